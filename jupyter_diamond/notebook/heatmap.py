"""The rhythm of a site's queues: how busy each hour of each weekday was, as a figure of plotly's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.history import HistorySeries, SiteHistory

if TYPE_CHECKING:
    import plotly.graph_objects as go

What = Literal["busy", "pending"]
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOURS = 24
_COLOURS: Mapping[What, str] = {"busy": "YlOrRd", "pending": "Blues"}  # both read well in grey


class Rhythm(NamedTuple):
    """Means by weekday (Monday first) and hour, and over how many readings each is. None: nothing was known then."""

    means: tuple[tuple[float | None, ...], ...]
    readings: tuple[tuple[int, ...], ...]


def rhythm(series: HistorySeries, what: What, zone: tzinfo | None = None) -> Rhythm:
    """``busy``: the share of the gating resource that was taken, in percent; ``pending``: how many jobs waited.

    Hours are those of ``zone``; None: of this machine. A span counts with as many readings as it is the mean of.
    """
    told = _busy(series) if what == "busy" else series.pending
    sums = [[0.0] * _HOURS for _ in DAYS]
    counts = [[0] * _HOURS for _ in DAYS]
    for moment, number, readings in zip(series.at, told, series.readings, strict=True):
        if number is not None:
            local = moment.astimezone(zone)
            sums[local.weekday()][local.hour] += number * readings
            counts[local.weekday()][local.hour] += readings
    means = tuple(
        tuple(total / count if count else None for total, count in zip(row, known, strict=True))
        for row, known in zip(sums, counts, strict=True)
    )
    return Rhythm(means, tuple(map(tuple, counts)))


def _busy(series: HistorySeries) -> Sequence[float | None]:
    return [
        None if free is None or not total else 100.0 * (total - free) / total
        for free, total in zip(series.free, series.total, strict=True)
    ]


def heatmap(past: SiteHistory, *, what: What = "busy", partition: str | None = None) -> go.Figure:
    """A figure with a row a weekday and a column an hour; a menu chooses the partition where there are several.

    Raises InvalidRequest where the site has no such partition, or plotly is not installed.
    """
    chosen = [each for each in past.series if partition in (None, each.partition)]
    if not chosen:
        known = ", ".join(each.partition for each in past.series) or "none was read yet"
        raise InvalidRequest(f"{past.site} has no partition {partition!r} in its past; there are: {known}.")
    graph = _plotly()
    figure = graph.Figure([_trace(graph.Heatmap, each, what, shown=each is chosen[0]) for each in chosen])
    figure.update_layout(
        title=_title(past, chosen[0], what),
        height=340,
        margin={"t": 60, "b": 40},
        updatemenus=_menu(past, chosen, what),
    )
    figure.update_xaxes(title="hour", dtick=3, showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ModuleNotFoundError:
        raise InvalidRequest(
            "The figure needs plotly: pip install 'jupyter-diamond[plots]'. Without it, %diamond history is a table."
        ) from None
    return go


def _trace(kind: Callable[..., Any], series: HistorySeries, what: What, *, shown: bool) -> Any:
    found = rhythm(series, what)
    said = "%{z:.0f} % busy" if what == "busy" else "%{z:.1f} jobs wait"
    return kind(
        z=found.means, x=list(range(_HOURS)), y=DAYS, customdata=found.readings, visible=shown,
        colorscale=_COLOURS[what], zmin=0, zmax=100 if what == "busy" else None, hoverongaps=False, xgap=1, ygap=1,
        colorbar={"title": "% busy" if what == "busy" else "jobs"},
        hovertemplate=f"%{{y}} %{{x}}:00<br>{said}<br>%{{customdata}} readings<extra></extra>",
    )  # fmt: skip


def _title(past: SiteHistory, series: HistorySeries, what: What) -> str:
    told = f"{series.unit}s that are taken" if what == "busy" else "jobs that wait"
    return f"{_plain(past.site)}:{_plain(series.partition)}, {told}, by weekday and hour"


def _plain(name: str) -> str:
    """Plotly reads titles as markup; names are a site's words."""
    return name.replace("&", "&amp;").replace("<", "&lt;")


def _menu(past: SiteHistory, chosen: Sequence[HistorySeries], what: What) -> list[dict[str, Any]]:
    if len(chosen) < 2:
        return []
    buttons = [
        {
            "label": _plain(each.partition), "method": "update",
            "args": [{"visible": [other is each for other in chosen]}, {"title.text": _title(past, each, what)}],
        }
        for each in chosen
    ]  # fmt: skip
    return [{"buttons": buttons, "x": 1.0, "xanchor": "right", "y": 1.25}]
