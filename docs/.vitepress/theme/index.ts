/** The theme of the site: VitePress' own, with tables that fit the screen. @module */
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
