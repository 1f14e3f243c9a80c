"""Cases of e2bmethods.py: templates, and what hookbox refuses."""

import e2b
from e2b.template.main import TemplateBase, TemplateBuilder, TemplateFinal
from e2b.template.types import BuildInfo
from e2bcases import WORKING, equal, exported, of, within, works

Sandbox, Template, Volume, Secret = map(exported, ("Sandbox", "Template", "Volume", "Secret"))


@works("Template.exists", "Template.alias_exists")
async def template_names(sandbox):
    equal([await of(Template.exists(name)) for name in ("base", "nothing")], [True, False])
    equal(await of(Template.alias_exists("base")), True)


@works("Template.to_json", "Template.to_dockerfile")
async def template_text(sandbox):
    template = Template().from_image("a").run_cmd("echo b")
    within("echo b", Template.to_json(template))
    within("FROM a", Template.to_dockerfile(template))


@works("Secret.fill", "Secret.iam_token")
async def secret_text(sandbox):
    within("a", str(Secret.fill("a")))
    Secret.iam_token(audience="a", token_type="JWT-SVID")


@works("wait_for_file", "wait_for_port", "wait_for_process", "wait_for_timeout", "wait_for_url", "ready.get_cmd")
async def ready(sandbox):
    made = [
        *(e2b.wait_for_file("a"), e2b.wait_for_port(1), e2b.wait_for_process("a")),
        *(e2b.wait_for_timeout(1), e2b.wait_for_url("http://a")),
    ]
    for one in made:
        assert isinstance(one.get_cmd(), str)


@works("default_build_logger")
async def build_logger(sandbox):
    assert callable(e2b.default_build_logger())


# Methods that describe a template, by their arguments.
BUILDING = {
    **{f"from_{name}_image": () for name in "debian ubuntu fedora alpine arch python node bun base".split()},
    "from_image": ("a",),
    "from_template": ("base",),
    "from_dockerfile": ("FROM a",),
    "from_aws_registry": ("a", "key", "secret", "region"),
    "from_gcp_registry": ("a", {}),
    "skip_cache": (),
    "add_mcp_server": ("a",),
    "apt_install": ("a",),
    "beta_dev_container_prebuild": ("a",),
    "beta_set_dev_container_start": ("a",),
    "bun_install": ("a",),
    "copy": ("*.none", "b"),
    "copy_items": ([{"src": "*.none", "dest": "b"}],),
    "git_clone": ("https://example.com/a.git",),
    "make_dir": ("a",),
    "make_symlink": ("a", "b"),
    "npm_install": ("a",),
    "pip_install": ("a",),
    "remove": ("a",),
    "rename": ("a", "b"),
    "run_cmd": ("a",),
    "set_envs": ({"A": "a"},),
    "set_ready_cmd": ("a",),
    "set_start_cmd": ("a", "b"),
    "set_user": ("a",),
    "set_workdir": ("/a",),
}
# Methods of templates that start from these alone.
FROM = {"add_mcp_server": "mcp-gateway", "beta_dev_container_prebuild": "devcontainer"}
FROM["beta_set_dev_container_start"] = "devcontainer"


def building(name, arguments):
    async def build(sandbox):
        template = Template()
        if not hasattr(template, name) or name == "skip_cache":
            template = template.from_template(FROM.get(name, "base"))
        built = getattr(template, name)(*arguments)
        assert isinstance(built, (TemplateBase, TemplateBuilder, TemplateFinal)), built

    return build


WORKING.update({f"Template().{name}": building(name, arguments) for name, arguments in BUILDING.items()})

async def then(coming, use):
    return await of(use(await of(coming)))


volume = lambda use: lambda sandbox: then(Volume.connect("a"), use)
REFUSED = {
    "Sandbox.fork": lambda sandbox: Sandbox.fork(sandbox.sandbox_id),
    "Sandbox.create_snapshot": lambda sandbox: Sandbox.create_snapshot(sandbox.sandbox_id),
    "Sandbox.list_snapshots": lambda sandbox: Sandbox.list_snapshots().next_items(),
    "Sandbox.delete_snapshot": lambda sandbox: Sandbox.delete_snapshot("a"),
    "sandbox.fork": lambda sandbox: sandbox.fork(),
    "sandbox.create_snapshot": lambda sandbox: sandbox.create_snapshot(),
    "sandbox.list_snapshots": lambda sandbox: sandbox.list_snapshots().next_items(),
    "snapshots.next_items": lambda sandbox: sandbox.list_snapshots().next_items(),
    "Template.build": lambda sandbox: Template.build(Template().from_image("a"), "mine"),
    "Template.build_in_background": lambda sandbox: Template.build_in_background(Template().from_image("a"), "mine"),
    "Template.get_build_status": lambda sandbox: Template.get_build_status(BuildInfo("a", "b", "c", "d")),
    "Template.assign_tags": lambda sandbox: Template.assign_tags("base", ["v1"]),
    "Template.remove_tags": lambda sandbox: Template.remove_tags("base", ["v1"]),
    "Template.get_tags": lambda sandbox: Template.get_tags("base"),
    "Volume.create": lambda sandbox: Volume.create("a"),
    "Volume.connect": lambda sandbox: Volume.connect("a"),
    "Volume.get_info": lambda sandbox: Volume.get_info("a"),
    "Volume.list": lambda sandbox: Volume.list(),
    "Volume.destroy": lambda sandbox: Volume.destroy("a"),
    "volume.list": volume(lambda one: one.list("/")),
    "volume.make_dir": volume(lambda one: one.make_dir("a")),
    "volume.get_info": volume(lambda one: one.get_info("a")),
    "volume.exists": volume(lambda one: one.exists("a")),
    "volume.update_metadata": volume(lambda one: one.update_metadata("a")),
    "volume.read_file": volume(lambda one: one.read_file("a")),
    "volume.write_file": volume(lambda one: one.write_file("a", "a")),
    "volume.remove": volume(lambda one: one.remove("a")),
    "Secret.create": lambda sandbox: Secret.create("a", "b"),
    "Secret.update": lambda sandbox: Secret.update("a", "b"),
    "Secret.get_info": lambda sandbox: Secret.get_info("a"),
    "Secret.list": lambda sandbox: Secret.list().next_items(),
    "secrets.next_items": lambda sandbox: Secret.list().next_items(),
    "Secret.exists": lambda sandbox: Secret.exists("a"),
    "Secret.destroy": lambda sandbox: Secret.destroy("a"),
}
