"""``report.json`` and ``report.html``: the funnel with reasons, actions by kind, failures, a few trajectories."""

from __future__ import annotations

import base64
import html
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files as resources
from itertools import islice
from string import Template
from typing import Any

from PIL import Image

from pipelines.failures import Tally
from pipelines.files import Folder
from video2gui import codec, shards
from video2gui.schema import (
    Action,
    Drag,
    Finish,
    Hotkey,
    OpenApp,
    Pinch,
    Press,
    Sample,
    Scroll,
    Step,
    Trajectory,
    TypeText,
)
from video2gui.timebase import clock

JSON_NAME, HTML_NAME = "report.json", "report.html"

STAGES = (
    "parse_row", "filter_metadata", "drop_duplicates", "fetch_video", "filter_content", "annotate", "ground", "check",
    "pack",
)  # fmt: skip

_EXAMPLES, _EXAMPLE_STEPS, _EXAMPLE_WIDTH_PX = 4, 10, 720


@dataclass(frozen=True, slots=True)
class StageReport:
    """What went into a stage, what went on, and why the rest did not: counts by reason and by kind of failure."""

    stage: str
    went_in: int
    went_on: int
    dropped: dict[str, int]
    failed: dict[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """The whole run in numbers. `rows` = `packed` + `dropped` + `failed`; duplicates count as dropped."""

    rows: int
    packed: int
    dropped: int
    failed: int
    trajectories: int
    steps: int
    shards: int
    size_bytes: int
    stages: tuple[StageReport, ...]
    trajectories_dropped: dict[str, int]
    actions: dict[str, int]

    def failures(self) -> dict[str, int]:
        """Failures by kind, over all stages."""
        counts: Counter[str] = Counter()
        for stage in self.stages:
            counts.update(stage.failed)
        return dict(counts.most_common())


def make(rows: int, tally: Tally, manifest: shards.Manifest) -> Report:
    stages = []
    left = rows
    for stage in STAGES:
        drops, failures = _by_reason(tally, "dropped", stage), _by_reason(tally, "failed", stage)
        went_in, left = left, left - sum(drops.values()) - sum(failures.values())
        stages.append(StageReport(stage, went_in, left, drops, failures))
    single = Counter({reason: 0 for _, _, reason in tally.trajectories})
    for (_, _, reason), count in tally.trajectories.items():
        single[reason] += count
    return Report(
        rows=rows,
        packed=tally.count("packed"),
        dropped=tally.count("dropped"),
        failed=tally.count("failed"),
        trajectories=tally.samples,
        steps=tally.steps,
        shards=len(manifest.shards),
        size_bytes=manifest.size_bytes,
        stages=tuple(stages),
        trajectories_dropped=_sorted(single),
        actions=_sorted(tally.actions),
    )


def _by_reason(tally: Tally, kind: str, stage: str) -> dict[str, int]:
    return _sorted(Counter({r: n for (k, s, r), n in tally.rows.items() if (k, s) == (kind, stage)}))


def _sorted(counts: Counter[str]) -> dict[str, int]:
    """Most frequent first, then by name, so that the same run gives the same bytes."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def examples(folder: Folder, manifest: shards.Manifest) -> list[Sample]:
    """A few samples to show, each of another video where there are so many."""
    found: dict[str, Sample] = {}
    spare: list[Sample] = []
    for sample in islice(_samples(folder, manifest), 50):
        source = codec.loads(Trajectory, sample.files["json"]).source.video_id
        if source in found:
            spare = [*spare, sample][:_EXAMPLES]
        else:
            found[source] = sample
        if len(found) == _EXAMPLES:
            break
    return [*found.values(), *spare][:_EXAMPLES]


def _samples(folder: Folder, manifest: shards.Manifest) -> Iterator[Sample]:
    for info in manifest.shards:
        with closing(folder.open(f"shards/{info.name}")) as file:
            yield from shards.samples_in(file, info.name)


# --------------------------------------------------------------------------------------------------- HTML


def to_html(report: Report, failures: list[dict[str, Any]], samples: Iterable[Sample]) -> str:
    """One page that needs nothing else: no script, no request. `failures` are rows of ``failures.jsonl`` to show."""
    page = Template((resources("pipelines") / "report.template.html").read_text("utf-8"))
    return page.substitute(
        facts="".join(_fact(name, value) for name, value in _facts(report)),
        funnel="".join(_stage(stage, report.rows) for stage in report.stages),
        actions=_bars(report.actions, "no actions"),
        failures=_bars(report.failures(), "nothing failed"),
        sentences=_sentences(failures, report.failed),
        single=_bars(report.trajectories_dropped, "none"),
        examples="".join(_trajectory(sample) for sample in samples) or "<p class=none>No trajectory was packed.</p>",
    )


def _facts(report: Report) -> list[tuple[str, str]]:
    return [
        ("rows", f"{report.rows:,}"),
        ("videos packed", f"{report.packed:,}"),
        ("trajectories", f"{report.trajectories:,}"),
        ("steps", f"{report.steps:,}"),
        ("shards", f"{report.shards:,}"),
        ("size", _size(report.size_bytes)),
    ]


def _size(size: int) -> str:
    number, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if number >= 100 or unit == "B" else f"{number:.1f} {unit}"


def _fact(name: str, value: str) -> str:
    return f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>"


def _stage(stage: StageReport, rows: int) -> str:
    share = 100 * stage.went_on / rows if rows else 0
    came = 100 * stage.went_in / rows if rows else 0
    reasons = "".join(
        f'<li class="{kind}">{_text(reason.replace("_", " "))} <b>{count:,}</b></li>'
        for kind, counts in (("dropped", stage.dropped), ("failed", stage.failed))
        for reason, count in counts.items()
    )
    return (
        f"<tr><th scope=row>{_text(stage.stage.replace('_', ' '))}</th>"
        f'<td class=bar><div class=in style="width:{came:.2f}%"></div><div class=on style="width:{share:.2f}%"></div>'
        f"</td><td class=n>{stage.went_on:,}</td><td><ul>{reasons}</ul></td></tr>"
    )


def _bars(counts: dict[str, int], nothing: str) -> str:
    if not counts:
        return f"<p class=none>{_text(nothing)}</p>"
    most = max(counts.values())
    rows = "".join(
        f"<tr><th scope=row>{_text(name.replace('_', ' '))}</th>"
        f'<td class=bar><div class=on style="width:{100 * count / most:.2f}%"></div></td>'
        f"<td class=n>{count:,}</td></tr>"
        for name, count in counts.items()
    )
    return f"<table>{rows}</table>"


def _sentences(failures: list[dict[str, Any]], failed: int) -> str:
    if not failures:
        return ""
    rows = "".join(
        f"<tr><td><code>{_text(_last(failure['row_address']))}</code></td>"
        f"<td>{_text(failure['stage'].replace('_', ' '))}</td><td>{_text(failure['message'])}</td></tr>"
        for failure in failures
    )
    more = f"<p class=none>and {failed - len(failures):,} more</p>" if failed > len(failures) else ""
    return f"<section class=sentences><h2>What failed, and why</h2><table>{rows}</table>{more}</section>"


def _last(address: str) -> str:
    """``file:line`` without the folders."""
    return address.rpartition("/")[2]


def _trajectory(sample: Sample) -> str:
    trajectory = codec.loads(Trajectory, sample.files["json"])
    source = trajectory.source
    about = [source.title, source.channel, trajectory.platform, trajectory.app, trajectory.website]
    steps = "".join(_step(number, step, sample) for number, step in enumerate(trajectory.steps[:_EXAMPLE_STEPS], 1))
    more = len(trajectory.steps) - _EXAMPLE_STEPS
    rest = f"<p class=none>and {more} more steps</p>" if more > 0 else ""
    return (
        f"<article><h3>{_text(trajectory.instruction.text)}</h3>"
        f"<p class=about>{_text(' · '.join(str(part) for part in about if part))}"
        f" <code>{_text(sample.key)}</code> {clock(trajectory.start_ns)}–{clock(trajectory.end_ns)}"
        f" · instruction from {_text(trajectory.instruction.source)}</p><ol>{steps}</ol>{rest}</article>"
    )


def _step(number: int, step: Step, sample: Sample) -> str:
    shot = step.before or step.after
    picture = ""
    if shot is not None and shot.file is not None:
        picture = _picture(sample.files[shot.file], step)
    target = f" on <q>{_text(step.target)}</q>" if step.target else ""
    return (
        f"<li><figure>{picture}<figcaption><span class=number>{number}</span> "
        f"<b>{_text(words(step.action))}</b>{target}"
        f"<small>{clock(step.start_ns)} · {step.evidence.confidence:.0%} · {step.evidence.action}</small>"
        f"</figcaption></figure></li>"
    )


def words(action: Action) -> str:
    """An action in a few words."""
    name = action.kind.replace("_", " ")
    match action:
        case TypeText(text=None):
            return "type, not readable"
        case TypeText(text=str(text)):
            return f"type “{text if len(text) <= 60 else text[:57] + '…'}”"
        case Press(key=key):
            return f"press {key}"
        case Hotkey(keys=keys):
            return f"press {' + '.join(keys)}"
        case Scroll(direction=direction) | Pinch(direction=direction):
            return f"{name} {direction}"
        case OpenApp(app=app):
            return f"open {app}"
        case Finish(status=status):
            return f"finish: {status}"
    return name


def _picture(data: bytes, step: Step) -> str:
    with Image.open(io.BytesIO(data)) as image:
        wide, high = image.size
        small = image.convert("RGB")
        if wide > _EXAMPLE_WIDTH_PX:
            small = small.resize((_EXAMPLE_WIDTH_PX, round(high * _EXAMPLE_WIDTH_PX / wide)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=80)
    encoded = base64.b64encode(out.getvalue()).decode()
    return (
        f'<div class=shot><img alt="" width={wide} height={high} src="data:image/jpeg;base64,{encoded}">'
        f'<svg viewBox="0 0 {wide} {high}" aria-hidden=true>{_marks(step, (wide, high))}</svg></div>'
    )


def _marks(step: Step, size_wh: tuple[int, int]) -> str:
    if step.grounding is None:
        return ""
    unit = size_wh[0] / 100
    out = []
    if step.grounding.box is not None:
        x1, y1, x2, y2 = step.grounding.box.to_px(size_wh)
        out.append(
            f"<rect class=box x={x1:.1f} y={y1:.1f} width={x2 - x1:.1f} height={y2 - y1:.1f} rx={unit / 3:.1f} />"
        )
    x, y = step.grounding.point.to_px(size_wh)
    if step.grounding.end_point is not None and isinstance(step.action, Drag):
        to_x, to_y = step.grounding.end_point.to_px(size_wh)
        out.append(f"<line class=drag x1={x:.1f} y1={y:.1f} x2={to_x:.1f} y2={to_y:.1f} />")
        out.append(f"<circle class=end cx={to_x:.1f} cy={to_y:.1f} r={unit:.1f} />")
    out.append(f"<circle class=halo cx={x:.1f} cy={y:.1f} r={1.6 * unit:.1f} />")
    out.append(f"<circle class=ring cx={x:.1f} cy={y:.1f} r={1.6 * unit:.1f} />")
    out.append(f"<circle class=dot cx={x:.1f} cy={y:.1f} r={0.35 * unit:.1f} />")
    return "".join(out)


def _text(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())
