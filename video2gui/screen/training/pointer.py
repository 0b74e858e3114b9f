# mypy: allow-subclassing-any, no-warn-unused-ignores, no-warn-return-any
"""Trains the pointer finder and writes it as ONNX.

    python -m video2gui.screen.training.pointer --out DIR --clips CLIPS --recordings RECORDINGS

Needs torch and onnx. A run that was stopped goes on from `DIR/last.pt`; with the same seed the order of the
pictures is the same. `--hold-out` leaves themes and clips out, for measuring; `--init` starts from another run.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from video2gui.screen.pointer import REACH_PX, SHAPES, STRIDE, PointerFinder
from video2gui.screen.training import pointer_data as data
from video2gui.screen.training.cursor_themes import load_themes

CROP = 128
BATCH = 32
STEPS_PER_SHARD = 240
HELD_OUT_THEMES = ("DMZ-Black", "Breeze", "Chameleon", "redglass")
#: Applications whose clips are not seen: by the first word of the clip's name.
HELD_OUT_CLIPS = ("chromium", "galculator", "pcmanfm", "qpdfview", "writer")


class _Conv(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, size: int = 3, stride: int = 1) -> None:
        conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = _Conv(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)  # type: ignore[no-any-return]


class PointerNet(nn.Module):
    """uint8 (N, H, W, 3), H and W multiples of 16 -> (N, 7 + shapes, H/4, W/4), raw.

    Channels: heat (logit), offset x and y in cells, reach left, top, right, bottom in `REACH_PX`, class logits.
    """

    def __init__(self, widths: tuple[int, int, int, int] = (12, 24, 40, 64)) -> None:
        super().__init__()
        a, b, c, d = widths
        self.to4 = nn.Sequential(_Conv(3, a, stride=2), _Conv(a, b, stride=2), _Residual(b))
        self.to8 = nn.Sequential(_Conv(b, c, stride=2), _Residual(c))
        self.to16 = nn.Sequential(_Conv(c, d, stride=2), _Residual(d), _Residual(d))
        self.up8, self.join8 = _Conv(d, c, size=1), _Residual(c)
        self.up4, self.join4 = _Conv(c, b, size=1), _Conv(b, 32)
        self.head = nn.Conv2d(32, 7 + len(SHAPES), 1)
        nn.init.constant_(self.head.bias[:1] if self.head.bias is not None else torch.zeros(1), -4.0)

    def forward(self, image: Tensor) -> Tensor:
        x = image.permute(0, 3, 1, 2).float() / 255.0 - 0.5
        four = self.to4(x)
        eight = self.to8(four)
        deep = F.interpolate(self.up8(self.to16(eight)), scale_factor=2.0)
        deep = F.interpolate(self.up4(self.join8(eight + deep)), scale_factor=2.0)
        return self.head(self.join4(four + deep))  # type: ignore[no-any-return]


# --- batches ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """Crops and their targets: `heat` (N, h, w) 0..1, `weight` 0 where unknown, `points` (M, 8): n, cell x, cell y,
    offset x, y and class; `reach` (M, 4)."""

    image: Tensor
    heat: Tensor
    weight: Tensor
    cells: Tensor
    offsets: Tensor
    shapes: Tensor
    reach: Tensor


def make_batch(shard: data.Shard, rng: np.random.Generator, size: int = BATCH) -> Batch:
    images, heats, weights = [], [], []
    cells: list[list[int]] = []
    offsets, shapes, reaches = [], [], []
    for n in range(size):
        frame, x0, y0 = _choose(shard, rng)
        image = shard.frames[frame, y0 : y0 + CROP, x0 : x0 + CROP]
        images.append(255 - image if rng.random() < 0.06 else image)
        heat, weight = np.zeros((CROP // STRIDE,) * 2, np.float32), np.ones((CROP // STRIDE,) * 2, np.float32)
        for _, bx1, by1, bx2, by2 in shard.holes[shard.holes[:, 0] == frame]:
            left, top = max(0, int((bx1 - x0) // STRIDE)), max(0, int((by1 - y0) // STRIDE))
            weight[top : max(0, int((by2 - y0) // STRIDE) + 1), left : max(0, int((bx2 - x0) // STRIDE) + 1)] = 0
        for row in shard.labels[shard.labels[:, 0] == frame]:
            x, y = row[1] - x0, row[2] - y0
            if not (-0.5 <= x < CROP - 0.5 and -0.5 <= y < CROP - 0.5):
                continue
            _splat(heat, x, y)
            cx, cy = int((x + 0.5) // STRIDE), int((y + 0.5) // STRIDE)
            weight[max(0, cy - 2) : cy + 3, max(0, cx - 2) : cx + 3] = 1
            cells.append([n, cy, cx])
            offsets.append([(x - cx * STRIDE - 1.5) / STRIDE, (y - cy * STRIDE - 1.5) / STRIDE])
            shapes.append(int(row[3]))
            reaches.append(row[4:8] / REACH_PX)
        heats.append(heat)
        weights.append(weight)
    return Batch(
        torch.from_numpy(np.stack(images)),
        torch.from_numpy(np.stack(heats)),
        torch.from_numpy(np.stack(weights)),
        torch.tensor(cells, dtype=torch.long).reshape(-1, 3),
        torch.tensor(np.array(offsets, np.float32)).reshape(-1, 2),
        torch.tensor(shapes, dtype=torch.long),
        torch.tensor(np.array(reaches, np.float32)).reshape(-1, 4),
    )


def _choose(shard: data.Shard, rng: np.random.Generator) -> tuple[int, int, int]:
    """Three crops in four have a pointer in them."""
    w, h = data.CANVAS_WH
    if rng.random() < 0.75 and len(shard.labels):
        row = shard.labels[int(rng.integers(len(shard.labels)))]
        x, y = row[1] - rng.uniform(8, CROP - 8), row[2] - rng.uniform(8, CROP - 8)
        return int(row[0]), int(np.clip(x, 0, w - CROP)), int(np.clip(y, 0, h - CROP))
    return int(rng.integers(len(shard.frames))), int(rng.integers(w - CROP + 1)), int(rng.integers(h - CROP + 1))


def _splat(heat: npt.NDArray[np.float32], x: float, y: float, sigma: float = 0.8) -> None:
    u, v = (x - 1.5) / STRIDE, (y - 1.5) / STRIDE
    cx, cy = int((x + 0.5) // STRIDE), int((y + 0.5) // STRIDE)
    for j in range(max(0, cy - 3), min(heat.shape[0], cy + 4)):
        for i in range(max(0, cx - 3), min(heat.shape[1], cx + 4)):
            value = float(np.exp(-((i - u) ** 2 + (j - v) ** 2) / (2 * sigma**2)))
            heat[j, i] = max(heat[j, i], value)
    heat[cy, cx] = 1.0


def loss_of(out: Tensor, batch: Batch) -> dict[str, Tensor]:
    logit, heat = out[:, 0], batch.heat
    likely, unlikely = F.logsigmoid(logit), F.logsigmoid(-logit)
    prob = torch.sigmoid(logit)
    peak = heat >= 1.0
    positive = -((1 - prob) ** 2 * likely)[peak].sum()
    negative = -(((1 - heat) ** 4) * prob**2 * unlikely * batch.weight)[~peak].sum()
    count = max(1, len(batch.shapes))
    at = out[batch.cells[:, 0], :, batch.cells[:, 1], batch.cells[:, 2]]
    return {
        "heat": (positive + negative) / count,
        "offset": 2.0 * F.l1_loss(at[:, 1:3], batch.offsets),
        "reach": 0.3 * F.l1_loss(at[:, 3:7], batch.reach),
        "shape": 0.3 * F.cross_entropy(at[:, 7:], batch.shapes),
    }


# --- the run ----------------------------------------------------------------------------------------------------


def gather(args: argparse.Namespace) -> data.SceneMaker:
    """The families of cursors and the backgrounds of this run. Backgrounds are kept in DIR/backgrounds.npz."""
    families = load_themes([Path(p) for p in args.themes])
    kept = Path(args.out) / "backgrounds.npz"
    if not kept.exists():
        data.save_backgrounds(_read_backgrounds(args), kept)
    backgrounds = data.load_backgrounds(kept)
    if args.hold_out:
        families = {name: cursors for name, cursors in families.items() if name not in HELD_OUT_THEMES}
        backgrounds = [b for b in backgrounds if b.source.split("_")[0] not in HELD_OUT_CLIPS]
    return data.SceneMaker(families, backgrounds, data.find_fonts())


def _read_backgrounds(args: argparse.Namespace) -> list[data.Background]:
    found: list[data.Background] = []
    for folder in sorted(Path(args.clips).iterdir()) if args.clips else []:
        found += data.clip_backgrounds(folder)
    finder = PointerFinder(Path(args.mask_with)) if args.mask_with else None
    folders = [Path(args.recordings) / kind for kind in ("positive", "negative")] if args.recordings else []
    for path in sorted(p for folder in folders for p in folder.iterdir()):
        if path.parent.name == "negative" or path.name in POINTERLESS:
            found += data.video_backgrounds(path, 14, None)
        elif finder:
            found += data.video_backgrounds(path, 14, finder)
    return found


#: Recordings in which no pointer is drawn. Others are used only with `--mask-with`.
POINTERLESS = (
    "android_contacts_maestro.gif",
    "android_language_picker_touch.gif",
    "android_quick_settings.gif",
    "android_widget_todo_touch.gif",
    "ios_contacts_maestro.gif",
    "uwp_range_selector.gif",
)


def train(args: argparse.Namespace) -> PointerNet:
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    cv2.setNumThreads(1)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    net = PointerNet().to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=args.rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, args.rate, total_steps=args.steps, pct_start=0.05)
    first = 0
    if (out / "last.pt").exists():
        state = torch.load(out / "last.pt", weights_only=True)
        net.load_state_dict(state["net"])
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
        first = int(state["step"])
    elif args.init:
        net.load_state_dict(torch.load(args.init, weights_only=True)["net"])
    if first >= args.steps:
        return net
    maker = gather(args)
    started = time.monotonic()
    sums: dict[str, float] = {}
    shard = None
    for step in range(first, args.steps):
        if shard is None or step % STEPS_PER_SHARD == 0:
            shard = data.make_shard(maker, args.seed, step // STEPS_PER_SHARD)
        batch = make_batch(shard, np.random.default_rng((args.seed, 1, step)))
        net.train()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.bf16):
            raw = net(batch.image)
        losses = loss_of(raw.float(), batch)
        optimiser.zero_grad(set_to_none=True)
        torch.stack(list(losses.values())).sum().backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
        schedule.step()
        for name, value in losses.items():
            sums[name] = sums.get(name, 0.0) + float(value.detach())
        if (step + 1) % STEPS_PER_SHARD == 0 or step + 1 == args.steps:
            means = " ".join(f"{k} {v / STEPS_PER_SHARD:.4f}" for k, v in sums.items())
            print(f"step {step + 1} {time.monotonic() - started:.0f} s {means}", flush=True)
            sums = {}
            _save(out / "last.pt", net, optimiser, schedule, step + 1)
    return net


def _save(path: Path, net: nn.Module, optimiser: torch.optim.Optimizer, schedule: object, step: int) -> None:
    state = {"net": net.state_dict(), "optimiser": optimiser.state_dict(), "step": step}
    state["schedule"] = schedule.state_dict()  # type: ignore[attr-defined]
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.rename(path)


class _Exported(nn.Module):
    """What the package runs: heat as a probability, classes as probabilities, everything in float32."""

    def __init__(self, net: PointerNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        raw = self.net(image)
        return torch.sigmoid(raw[:, 0]), torch.cat([raw[:, 1:7], torch.softmax(raw[:, 7:], dim=1)], dim=1)


def export(net: PointerNet, path: Path) -> None:
    """Writes ONNX with batch norm folded in; the two outputs are `heat` (N, h, w) and `maps` (N, 6 + shapes, h, w)."""
    module = _Exported(net.to(memory_format=torch.contiguous_format)).eval()
    torch.onnx.export(
        module,
        (torch.zeros(1, 64, 64, 3, dtype=torch.uint8),),
        str(path),
        dynamo=False,
        input_names=["image"],
        output_names=["heat", "maps"],
        dynamic_axes={k: {0: "n", a: "h", a + 1: "w"} for k, a in (("image", 1), ("heat", 1), ("maps", 2))},
        opset_version=17,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--themes", nargs="+", default=["/usr/share/icons"], help="folders of Xcursor themes")
    parser.add_argument("--clips", help="folder of clips with video.mp4 and track.json")
    parser.add_argument("--recordings", help="folder with positive/ and negative/ recordings")
    parser.add_argument(
        "--mask-with", help="ONNX of an earlier run: use recordings with unknown pointers, masked by it"
    )
    parser.add_argument("--hold-out", action="store_true", help="leave the test themes and clips out")
    parser.add_argument("--init", help="checkpoint to start from")
    parser.add_argument("--steps", type=int, default=9600)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bf16", action="store_true", help="faster where the processor has it")
    args = parser.parse_args()
    export(train(args), Path(args.out) / "pointer.onnx")


if __name__ == "__main__":
    main()
