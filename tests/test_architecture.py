"""Imports point down, heavy packages stay at home, errors stand in their drawn tree."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from video2gui import errors

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("video2gui", "proactvl", "pipelines", "demo")

#: Layers from the bottom up, by the longest matching prefix. A module imports its own layer or a lower one.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("video2gui.errors",),
    ("video2gui.timebase", "video2gui.geometry"),
    ("video2gui.codec",),
    ("video2gui.schema", "video2gui.config"),
    ("video2gui.video", "video2gui.guard"),
    ("video2gui.captions", "video2gui.ocr", "video2gui.fetch", "video2gui.shards", "video2gui.textmodel"),
    ("video2gui.screen",),
    ("video2gui.annotators", "video2gui.stages"),
    ("video2gui.mine", "video2gui.filtering"),
    ("video2gui.show",),
    ("video2gui.cli",),
    ("video2gui", "video2gui.__main__", "video2gui.testing", "video2gui.screen.training"),
    ("proactvl",),
    ("pipelines", "demo"),
)

#: What `proactvl` may take from `video2gui`.
SHARED = ("video2gui.video", "video2gui.timebase", "video2gui.geometry", "video2gui.vlm")

#: Packages that cost seconds or hundreds of megabytes, and who may import them at all.
HEAVY: dict[str, tuple[str, ...]] = {
    "apache_beam": ("pipelines",),
    "av": ("video2gui.video.pyav_reader", "video2gui.testing"),
    "decord": ("video2gui.video.decord_reader",),
    "gradio": ("demo",),
    "torch": ("proactvl", "video2gui.screen.training", "video2gui.vlm"),
    "transformers": ("proactvl", "video2gui.vlm"),
    "yt_dlp": ("video2gui.fetch",),
    "rapidocr": ("video2gui.ocr",),
    "paddleocr": ("video2gui.ocr",),
    "cv2": ("video2gui",),
    "onnxruntime": ("video2gui",),
}


def modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> Iterator[tuple[str, int]]:
    """Absolute names of what a file imports, anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
                base = ".".join([*anchor[: len(anchor) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                name = f"{base}.{alias.name}"
                is_module = (ROOT / Path(*name.split("."))).with_suffix(".py").exists() or (
                    ROOT / Path(*name.split(".")) / "__init__.py"
                ).exists()
                yield (name if is_module else base), node.lineno


def under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def layer(name: str) -> int:
    best = max(
        (prefix for names in LAYERS for prefix in names if under(name, prefix)),
        key=len,
        default=None,
    )
    assert best is not None, f"{name} has no layer"
    return next(i for i, names in enumerate(LAYERS) if best in names)


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_point_down(module: str, path: Path) -> None:
    for name, line in imports(module, path):
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        if name.split(".")[0] in PACKAGES:
            assert layer(name) <= layer(module), f"{where}, which stands above {module}"
            if under(module, "proactvl") and under(name, "video2gui"):
                assert any(under(name, shared) for shared in SHARED), where
            if under(module, "video2gui.stages") and under(name, "video2gui.stages") and module != "video2gui.stages":
                own = module.split(".")[2]
                assert name.split(".")[2:3] == [own], f"{where}: stages do not know each other"
        elif name.split(".")[0] in HEAVY:
            allowed = HEAVY[name.split(".")[0]]
            assert any(under(module, home) for home in allowed), f"{where}: only {', '.join(allowed)} may"


def test_an_upward_import_is_caught(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("from video2gui.cli import main\n")
    (name, line) = next(imports("video2gui.schema", tmp_path / "x.py"))
    assert (name, line) == ("video2gui.cli", 1)
    assert layer(name) > layer("video2gui.schema")


def test_importing_our_modules_loads_nothing_heavy() -> None:
    """Each module of `video2gui` can be imported without touching a heavy package."""
    names = [name for name, _ in modules() if under(name, "video2gui") and "training" not in name]
    names = [name for name in names if not name.endswith("__main__")]
    code = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
    found = sorted(set({sorted(HEAVY)!r}) & set(sys.modules))
    assert not found, f"importing {{name}} loads {{found}}"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_error_stands_in_the_drawn_tree() -> None:
    drawn = errors.__doc__ or ""
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.Video2GuiError):
            assert name in drawn, f"{name} is missing from the tree in errors.py"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_broad_handler_without_a_reason(package: str) -> None:
    for _, path in ((m, p) for m, p in modules() if under(m, package)):
        lines = path.read_text("utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None
                or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            ):
                here = lines[node.lineno - 1] + lines[node.lineno - 2] + lines[node.lineno]
                assert "#" in here, f"{path.relative_to(ROOT)}:{node.lineno} catches everything and does not say why"
