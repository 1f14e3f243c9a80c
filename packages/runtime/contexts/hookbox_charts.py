"""Reads the data of matplotlib's figures as plain values, so that clients can draw them again. Imported with the first figure.

A chart is {"type", "title", "elements"}, and axes add "x_label", "y_label" and their units. The names are those of E2B's SDKs.
"""

import re
import sys

#: The largest chart, in points, that is sent in addition to the image.
MOST_POINTS = 100_000
#: A unit in a label: `Time (s)` or `Time [s]`.
UNIT = re.compile(r"\((.*?)\)|\[(.*?)\]")
#: Where change_axes() keeps the numbers of box plots. matplotlib itself only keeps their lines.
BOXES = "_hookbox_boxes"


def chart_of(figure):
    """Returns the chart of a figure. None: it has no axes, or too many points."""
    charts = [chart_of_axes(axes) for axes in figure.axes if axes.get_label() != "<colorbar>"]
    if not charts or sum(map(points_in, charts)) > MOST_POINTS:
        return None
    if len(charts) == 1:
        return charts[0]
    title = getattr(figure, "_suptitle", None)
    return {"type": "superchart", "title": (title and title.get_text()) or None, "elements": charts}


def points_in(chart):
    return sum(len(one.get("points", one.get("outliers", [1]))) for one in chart["elements"])


def chart_of_axes(axes):
    # In three dimensions, the artists have places on the image only.
    for read in (boxes_of, pie_of, bars_of, lines_of, scatter_of) if axes.name != "3d" else ():
        found = read(axes)
        if found:
            return {"title": axes.get_title() or None, **found}
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def plane(axes, is_turned=False):
    """Labels and units. In a horizontal chart, the names of the elements are on the other axis, and still count as x."""
    x, y = axes.get_xlabel(), axes.get_ylabel()
    labels = dict(zip(("x", "y"), (y, x) if is_turned else (x, y)))
    units = {name: UNIT.search(label) for name, label in labels.items()}
    return {
        **{f"{name}_label": label or None for name, label in labels.items()},
        **{f"{name}_unit": (unit[1] or unit[2]) if unit else None for name, unit in units.items()},
    }


def points_plane(axes):
    found = plane(axes)
    for name, axis in ("x", axes.xaxis), ("y", axes.yaxis):
        found[f"{name}_ticks"] = [value_at(axis, tick) for tick in axis.get_majorticklocs()]
        found[f"{name}_tick_labels"] = [label.get_text() for label in axis.get_majorticklabels()]
        found[f"{name}_scale"] = scale_of(axis)
    return found


def scale_of(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    name = type(converter).__name__
    if "Category" in name:
        return "categorical"
    return "datetime" if re.search("Date|Period|Time", name) else axis.get_scale()


def value_at(axis, number):
    """Returns the value that a number on an axis stands for: the name of a category, or a time in ISO 8601."""
    scale = scale_of(axis)
    if scale == "categorical":
        names = {at: name for name, at in axis.units._mapping.items()}
        return names.get(round(float(number)), float(number))
    if scale == "datetime":
        frequency = getattr(axis, "freq", None)
        if frequency is not None:
            # pandas has periods, and newer versions the numbers of them.
            is_period = hasattr(number, "start_time")
            period = number if is_period else sys.modules["pandas"].Period(ordinal=round(float(number)), freq=frequency)
            return period.start_time.isoformat()
        return sys.modules["matplotlib"].dates.num2date(number).replace(tzinfo=None).isoformat()
    return float(number)


def name_at(axis, number):
    """Returns the text at a place of an axis if its ticks have names; otherwise the value."""
    if re.search("Fixed|Category|Func", type(axis.get_major_formatter()).__name__):
        names = zip(axis.get_majorticklocs(), axis.get_majorticklabels())
        near = [(abs(tick - number), label.get_text()) for tick, label in names if abs(tick - number) < 0.5]
        if near:
            return min(near)[1]
    value = value_at(axis, number)
    return value if isinstance(value, str) else f"{value:g}"


def label_of(artist, otherwise):
    """matplotlib gives names with an underscore to artists that have none."""
    label = str(artist.get_label())
    return otherwise if label.startswith("_") else label


def pie_of(axes):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    elements = [
        {"label": label_of(one, ""), "angle": float(one.theta2 - one.theta1), "radius": float(one.r)} for one in wedges
    ]
    return elements and {"type": "pie", "elements": elements}


def bars_of(axes):
    containers = [one for one in axes.containers if type(one).__name__ == "BarContainer" and len(one)]
    if not containers:
        return None
    is_turned = all(getattr(one, "orientation", None) == "horizontal" for one in containers)
    elements = []
    for container in containers:
        for bar in container:
            at = bar.get_y() + bar.get_height() / 2 if is_turned else bar.get_x() + bar.get_width() / 2
            elements.append({
                "label": name_at(axes.yaxis if is_turned else axes.xaxis, at),
                "group": label_of(container, ""),
                "value": float(bar.get_width() if is_turned else bar.get_height()),
            })
    return {"type": "bar", **plane(axes, is_turned), "elements": elements}


def lines_of(axes):
    # Others are lines across the axes, such as those of axhline().
    lines = [line for line in axes.lines if line.get_transform() == axes.transData and len(line.get_xdata())]
    elements = [
        {
            "label": label_of(line, f"Line {number}"),
            "points": [list(pair) for pair in zip(values(axes.xaxis, line.get_xdata()), values(axes.yaxis, line.get_ydata()))],
        }
        for number, line in enumerate(lines, 1)
    ]
    return elements and {"type": "line", **points_plane(axes), "elements": elements}


def scatter_of(axes):
    groups = [one for one in axes.collections if type(one).__name__ == "PathCollection" and len(one.get_offsets())]
    elements = [
        {
            "label": label_of(group, f"Group {number}"),
            "points": [[value_at(axes.xaxis, x), value_at(axes.yaxis, y)] for x, y in group.get_offsets()],
        }
        for number, group in enumerate(groups, 1)
    ]
    return elements and {"type": "scatter", **points_plane(axes), "elements": elements}


def keep_boxes(axes, boxes, medians, is_turned):
    """Keeps the numbers of a box plot with the lines of its medians, which show whether the plot is still there."""
    setattr(axes, BOXES, [*getattr(axes, BOXES, []), *zip(boxes, medians, [is_turned] * len(boxes))])


def boxes_of(axes):
    kept = [one for one in getattr(axes, BOXES, []) if one[1] in axes.lines]
    elements = [
        {
            "label": name_at(axes.yaxis, mean(line.get_ydata())) if is_turned else name_at(axes.xaxis, mean(line.get_xdata())),
            "min": box["whislo"],
            "first_quartile": box["q1"],
            "median": box["med"],
            "third_quartile": box["q3"],
            "max": box["whishi"],
            "outliers": list(box.get("fliers", [])),
        }
        for box, line, is_turned in kept
    ]
    return elements and {"type": "box_and_whisker", **plane(axes, all(one[2] for one in kept)), "elements": elements}


def mean(numbers):
    return sum(map(float, numbers)) / len(numbers)


def values(axis, data):
    """The data as the user gave them: numbers, names or times. pandas replaces times by periods."""
    return [value_at(axis, one) for one in data] if getattr(axis, "freq", None) is not None else list(data)
