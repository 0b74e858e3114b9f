from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines import rows
from video2gui.errors import InputError


def read_all(*names: Path) -> list[tuple[str, bytes]]:
    ranges, count = rows.plan([str(name) for name in names])
    found = [row for part in ranges for row in rows.read(part)]
    assert count == len(found)
    assert [ref for ref, _ in found] == sorted(ref for ref, _ in found)
    with rows.Again() as again:
        for ref, data in found:
            assert again.read(ref) == (data if ref.length <= rows.MAX_ROW_BYTES else None)
    return [(ref.address.rpartition("/")[2], data.strip()) for ref, data in found]


def test_lines_have_addresses_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1}\r\n\n  \nnot json\n{"b":2}')
    assert read_all(path) == [("rows.jsonl:1", b'{"a":1}'), ("rows.jsonl:4", b"not json"), ("rows.jsonl:5", b'{"b":2}')]


def test_ranges_of_a_large_file_hold_each_row_once_under_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(b"".join(b'{"n":%d}\n' % n + b"\n" * (n % 3) for n in range(500)))
    whole = read_all(path)
    monkeypatch.setattr(rows, "RANGE_BYTES", 100)
    assert len(rows.plan([str(path)])[0]) > 10
    assert read_all(path) == whole
    assert len(whole) == 500


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a": "}{\\"]"}, {"b": [1, {"c": 2}]}]', [(1, '{"a": "}{\\"]"}'), (1, '{"b": [1, {"c": 2}]}')]),
        ('[\n  {"a": 1},\n  {"a": 2}\n]\n', [(2, '{"a": 1}'), (3, '{"a": 2}')]),
        ('{\n "id": "x"\n}\n{\n "id": "y"\n}\n', [(1, '{\n "id": "x"\n}'), (4, '{\n "id": "y"\n}')]),
        ('\ufeff[{"a": 1}]', [(1, '{"a": 1}')]),
        ('[{"a": 1}, 7, {"a": 2}]', [(1, '{"a": 1}'), (1, "7,"), (1, '{"a": 2}')]),
        ('[{"a": 1}, {"a": ', [(1, '{"a": 1}'), (1, '{"a":')]),
        ("[]", []),
    ],
)
def test_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, text: str, expected: list[tuple[int, str]]
) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, "utf-8")
    ranges, _ = rows.plan([str(path)])
    assert [part.document for part in ranges] == [True]
    monkeypatch.setattr(rows, "_CHUNK", chunk)
    found = [(ref.line, data.decode().strip()) for ref, data in rows.read(ranges[0])]
    assert found == expected


@given(st.lists(st.dictionaries(st.text(), st.one_of(st.text(), st.lists(st.integers()))), max_size=5), st.booleans())
def test_any_array_comes_apart_into_its_objects(values: list[dict[str, object]], indent: bool) -> None:
    scan = rows._Scan()
    data = json.dumps(values, indent=2 if indent else None, ensure_ascii=False).encode()
    found = [raw for i in range(0, len(data), 5) for raw in scan.feed(data[i : i + 5])] + list(scan.finish())
    assert [json.loads(bytes(raw.kept)) for raw in found] == values
    assert [data[raw.offset : raw.offset + raw.length] for raw in found] == [bytes(raw.kept) for raw in found]


def test_packed_files_and_patterns(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"b":1}\n{"b":2}\n'))
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n')
    assert [where for where, _ in read_all(tmp_path / "*.jsonl*", tmp_path / "a.jsonl")] == [
        "a.jsonl:1",
        "b.jsonl.gz:1",
        "b.jsonl.gz:2",
    ]


def test_a_fifty_megabyte_line_is_one_row_and_never_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a":1}\n{"b":"')
        for _ in range(50):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n{"c":1}\n')
    tracemalloc.start()
    ranges, count = rows.plan([str(path)])
    found = [(ref.line, ref.length > rows.MAX_ROW_BYTES) for part in ranges for ref, _ in rows.read(part)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, found) == (3, [(1, False), (2, True), (3, False)])
    assert peak < 5 * rows.MAX_ROW_BYTES


@pytest.mark.parametrize("data", [gzip.compress(b'{"b":1}\n' * 1000)[:-20], b"no gzip at all"])
def test_a_cut_off_or_foreign_packed_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        rows.plan([str(path)])


def test_a_name_that_names_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file is called"):
        rows.plan([str(tmp_path / "nothing.jsonl")])
