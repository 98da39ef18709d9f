"""The text of perf script, addr2line and perf annotate, read back."""

from __future__ import annotations

from pathlib import Path

from fixturegen.instruments import profile

PROGRAMS = Path(__file__).parents[1] / "programs" / "perf"
BINARY = "/x/bin/book"
RECORDED = (PROGRAMS / "script.txt").read_text().replace("@BINARY@", BINARY)

# Recorded from perf 6.1.187: Rust, a kernel's frames, an unknown one, lost samples.
RUST = (PROGRAMS / "rust_script.txt").read_text()

PLACES = """\
0x00000000000047e0: relax at /x/ring.h:29
 (inlined by) wait_for at /x/ring.h:55
 (inlined by) strategy at /x/book.c:73
0x0000000000004643: think at /x/stages.h:34 (discriminator 3)
0x0000000000005000: ?? ??:0
0x0000000000006000: catch_unwind<core::panic::AssertUnwindSafe<fn() at 3>> at /rustc/a b/x.rs:1
"""


def test_samples_have_thread_event_and_stack() -> None:
    found = profile.read_script(RUST)
    assert [s.thread for s in found.samples] == [26998, 27001, 27001, 27001]
    assert found.samples[0].comm == "book-rust-prof" and found.samples[1].comm == "my thread 3"
    first = found.samples[0].frames
    assert first[0] == profile.Frame(0xFFFFFFFF82255FF7, "clear_page_rep", "[kernel.kallsyms]")
    assert first[1].name == profile.UNKNOWN
    feed = found.samples[1].frames[0]
    assert feed == profile.Frame(0x24D02, "book::feed", "/tmp/a b/book (deleted)")
    assert found.samples[3].frames == ()
    assert found.lost == 490 and found.event == "cpu-clock"


def test_no_text_is_no_sample() -> None:
    found = profile.read_script("")
    assert found.samples == [] and found.lost == 0 and found.event == ""


def test_event_of_two_kinds_of_cores() -> None:
    text = (
        "a 1 cpu_core/cycles/P: \n\t 1 f+0x1 (/a)\n\na 1 cpu_atom/cycles/P: \n\t 1 f+0x1 (/a)\n\n"
    )
    assert profile.read_script(text).event == "cpu_atom cycles, cpu_core cycles"


def test_places_have_the_innermost_function_first() -> None:
    found = profile.read_places(PLACES, [0x47E0, 0x4643, 0x5000, 0x6000, 0x7000])
    assert found[0x47E0] == ["relax", "wait_for", "strategy"]
    assert found[0x4643] == ["think"]
    assert found[0x5000] == [] and found[0x7000] == []
    assert found[0x6000] == ["catch_unwind"]


def test_addresses_of_callers_are_those_of_their_calls() -> None:
    found = profile.own_addresses(profile.read_script(RECORDED), BINARY)
    assert found == [0x7F00001139, 0x7F00004643, 0x7F000047E2, 0x7F00004800]


def test_inlined_functions_stand_in_the_stack() -> None:
    taken = profile.Taken(
        "book",
        1,
        "cycles",
        (
            profile.Frame(0x47E0, "strategy", BINARY),
            profile.Frame(0x10, profile.UNKNOWN, "/usr/lib/libx.so"),
            profile.Frame(0x20, "start_thread", "/usr/lib/libc.so.6"),
        ),
    )
    places = {0x47E0: ["relax", "wait_for", "strategy"], 0x10: ["wrong", "wrong"]}
    assert profile.expanded(taken, BINARY, places) == [
        "start_thread",
        "[libx.so]",
        "strategy",
        "wait_for",
        "relax",
    ]


def test_an_innermost_function_without_its_own_name_is_left_out() -> None:
    taken = profile.Taken("b", 1, "c", (profile.Frame(9, "book::strategy", BINARY),))
    places = {9: ["book::strategy", "load", "wait_for", "strategy"]}
    assert profile.expanded(taken, BINARY, places) == ["book::strategy", "wait_for", "load"]


def test_folded_stacks_are_counted_and_sorted() -> None:
    stacks = [("b", ["main", "work"]), ("b", ["main"]), ("b", ["main", "work"]), ("a;b", ["x;y"])]
    assert profile.fold(stacks) == "a:b;x:y 1\nb;main 1\nb;main;work 2\n"
    assert profile.fold([]) == ""


def test_the_thread_is_that_with_the_most_samples_in_the_function() -> None:
    recording = profile.read_script(RECORDED)
    assert profile.chosen_thread(recording, "think") == 701
    assert profile.chosen_thread(recording, "exc_page_fault") == 702
    assert profile.chosen_thread(recording, "nowhere") == 701
    assert profile.chosen_thread(profile.Recording([], 0), "think") == -1


def test_functions_have_own_and_total_samples() -> None:
    stacks = [["start", "strategy", "think"], ["start", "strategy"], ["start", "a", "a"], []]
    found = profile.counted(stacks, lambda name: name != "start")
    assert found == {
        "own": {"a": [1], "strategy": [1], "think": [1]},
        "total": {"a": [1], "strategy": [2], "think": [1]},
    }


def test_short_names() -> None:
    assert profile.short("think") == "think"
    assert profile.short("book::stages::think") == "think"
    assert profile.short("<usize as core::fmt::Display>::fmt") == "fmt"
    assert profile.short("core::ops::FnOnce::call_once{{vtable.shim}}") == "call_oncevtable_shim"
    assert profile.short("foo(int, char)") == "foo"


def test_flat_profile_and_biggest_stacks() -> None:
    samples = profile.read_script(RECORDED).samples
    assert profile.flat(samples, 2) == [
        profile.Hot("think", "book", 6),
        profile.Hot("strategy", "book", 3),
    ]
    assert profile.flat([profile.Taken("a", 1, "c", ())], 2)[0].name == profile.UNKNOWN
    stacks = [["a", "b"], ["a"], ["a", "b"]]
    assert profile.biggest(stacks, 1) == [profile.Stack(2, ["a", "b"])]


def test_excerpt_keeps_what_is_around_the_samples() -> None:
    found = profile.excerpt((PROGRAMS / "annotate.txt").read_text())
    assert [x.share for x in found if x.share] == ["0.00", "33.33", "66.67", "0.00"]
    texts = [line.text for line in found]
    assert "4643: add $0x8,%rax" in texts and "4647: imul %rcx,%rdx" in texts
    assert "signal = (signal ^ near[i]) * 0x9e3779b97f4a7c15;" in texts


def test_excerpt_of_many_hot_lines_is_short_and_keeps_the_hottest() -> None:
    text = "".join(f"  {1 + i / 100:.2f} :   {4096 + i:x}:   nop\n" for i in range(90))
    found = profile.excerpt(text, length=10)
    assert len([line for line in found if line.share]) <= 10
    assert found[-1].share == "1.89"
    assert profile.excerpt("") == [] and profile.excerpt("nothing\n") == []
