"""Samples to metrics, groups and verdicts; pure, and fed one sample at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fixturegen import errors, expression, units, visible
from fixturegen.fixture.checks import check_param
from fixturegen.fixture.claims import claim_names, instances
from fixturegen.languages import LANGUAGES
from fixturegen.machine import memory
from fixturegen.model import Case, Claim, Fixture, Kind, Metric, Paths, Program, Sample, Value
from fixturegen.runs import record
from fixturegen.runs.context import RESTORE

KEPT = 5  # samples of each case whose printed lines a report may show
BREAKING = 3  # processes that break an `each`, of which the values are shown
Number = int | float


class MetricError(ValueError):
    """A sample whose lines do not give a metric: the message names the metric."""


class Metrics:
    """Evaluates the metrics of one program's samples; expressions are parsed once."""

    def __init__(self, program: Program, params: Mapping[str, Value]) -> None:
        self._program = program
        self._params = {f"params.{key}": value for key, value in params.items()}
        self._parsed = {n: expression.parse(m.value) for n, m in program.metrics.items()}
        self._by_mode: dict[str, dict[str, Metric]] = {}

    def of(self, sample: Sample, mode: str) -> dict[str, Number]:
        """Return each metric of the sample; raises MetricError if its lines do not give one."""
        wanted = self._by_mode.get(mode)
        if wanted is None:
            wanted = self._by_mode[mode] = self._program.metrics_of(mode)
        values: dict[str, expression.Given] = dict(self._params)
        for name, columns in sample.lines.items():
            for column, entries in columns.items():
                values[f"{name}.{column}"] = entries
        result: dict[str, Number] = {}
        scope = expression.Scope(values)
        for name, metric in wanted.items():
            parsed = self._parsed[name]
            for path in parsed.paths:
                if path not in values:
                    values[path] = _usage(sample, path)
            value = expression.evaluate_metric(parsed, scope)
            if not isinstance(value, expression.Unknown):
                result[name] = value
            elif not metric.optional:
                raise MetricError(f"metric {name}: {'; '.join(value.reasons)}")
        return result


def _usage(sample: Sample, path: str) -> Number | list[Number]:
    """Return the kernel's accounting under the name `process.NAME`; [] if `path` is none."""
    scope, _, name = path.partition(".")
    value: Number | list[Number] = getattr(sample.usage, name, []) if scope == "process" else []
    return value


class CaseSummary(Struct):
    """What the processes of one case gave; the lists run parallel, one entry an ok process.

    kept: what the first few of them printed, as examples: no statistic rests on it. histograms: of
    each line with the columns `ns` and `count`, how often a value was printed by all processes
    together; None if one of them printed something else.
    """

    case: Case
    rounds: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    values: dict[str, list[Number | None]] = field(default_factory=dict)
    kept: list[dict[str, dict[str, list[int | str]]]] = field(default_factory=list)
    histograms: dict[str, Counter[Number] | None] = field(default_factory=dict)
    failed: list[tuple[int, str, str]] = field(default_factory=list)
    wall_ns: int = 0
    leftovers: int = 0
    rcu: int = 0

    @property
    def count(self) -> int:
        """How many processes are in the statistics."""
        return len(self.rounds)


class ClaimResult(Struct, frozen=True):
    """A claim's verdict on a run. kind: "count" if every metric that it cites is one.

    of: the language, build or program that a claim with `for` speaks of here, else "".
    """

    claim: Claim
    verdict: expression.Verdict
    kind: Kind
    of: str = ""

    @property
    def label(self) -> str:
        """`of` as people write it: C++ for cpp."""
        return LANGUAGES.label(self.of) if self.claim.for_each == "language" else self.of

    @property
    def about(self) -> str:
        """What a message adds to the state: ` for Rust`, or nothing."""
        return f" for {self.label}" if self.of else ""


class Summary:
    """All samples of one run, as metrics."""

    def __init__(
        self, fixture: Fixture, params: Mapping[str, Value], folios: Sequence[int] = ()
    ) -> None:
        """`folios`: the sizes in KiB, other than a page, that a page fault of the run may map."""
        self.fixture = fixture
        self.params = dict(params)
        self.folios = tuple(folios)
        self.cases = Paths(
            {
                case.path: CaseSummary(
                    case, values={name: [] for name in program.metrics_of(case.mode)}
                )
                for program in fixture.programs
                for case in program.cases()
            }
        )
        self.foreign: dict[str, int] = {}
        self._metrics = {p.name: Metrics(p, params) for p in fixture.programs}
        self._kinds = Paths(metric_kinds(fixture))
        self._histograms = {
            p.name: [name for name, pattern in p.lines.items() if is_histogram(pattern)]
            for p in fixture.programs
        }

    def metrics(self, sample: Sample) -> dict[str, Number]:
        """Return the metrics of an ok sample; raises MetricError."""
        case = self.cases[sample.case].case
        return self._metrics[case.program].of(sample, case.mode)

    def add(self, sample: Sample, values: dict[str, Number] | None = None) -> None:
        """Take in one sample; `values` are its metrics if the caller has them already."""
        into = self.cases.get(sample.case)
        if into is None:  # the fixture no longer has this case: said in the report
            self.foreign[sample.case] = self.foreign.get(sample.case, 0) + 1
            return
        into.wall_ns += sample.usage.wall_ns
        into.leftovers += sample.leftovers
        into.rcu += sample.rcu > 0
        if sample.status != "ok":
            into.failed.append((sample.round, sample.status, sample.detail))
            return
        try:
            metrics = self.metrics(sample) if values is None else values
        except MetricError as error:
            into.failed.append((sample.round, "unread", str(error)))
            return
        into.rounds.append(sample.round)
        into.positions.append(sample.position)
        into.after.append(sample.after)
        for name, values_so_far in into.values.items():
            values_so_far.append(metrics.get(name))
        if len(into.kept) < KEPT:
            into.kept.append(sample.lines)
        for line in self._histograms[into.case.program]:
            into.histograms[line] = _merged(
                into.histograms.get(line, Counter()), sample.lines.get(line, {})
            )

    def add_all(self, samples: Iterable[Sample]) -> Summary:
        """Take in every sample, and return self."""
        for sample in samples:
            self.add(sample)
        return self

    @property
    def failures(self) -> list[tuple[str, int, str, str]]:
        """Every failed sample: case, round, status, detail."""
        return [(path, *entry) for path, c in self.cases.items() for entry in c.failed]

    def walls_ns(self) -> dict[str, int]:
        """Return the mean wall time of each case's processes, failed ones too."""
        counts = {path: c.count + len(c.failed) for path, c in self.cases.items()}
        return {path: c.wall_ns // counts[path] for path, c in self.cases.items() if counts[path]}

    @property
    def measured(self) -> int:
        """How many samples are in the statistics."""
        return sum(case.count for case in self.cases.values())

    def values(self, path: str) -> list[Number]:
        """Return the processes' values of `program.language[.build].mode.metric`; KeyError."""
        case, _, metric = path.rpartition(".")
        if path not in self._kinds:
            raise KeyError(path)
        values = self.cases[case].values.get(metric, [])
        given = [(place, value) for place, value in enumerate(values) if value is not None]
        plain = [value for _, value in given]
        if len(given) == len(values):
            return plain
        return expression.Processes(plain, tuple(place for place, _ in given))

    def of(self, path: str) -> int:
        """Return how many processes the case of a path has in the statistics; KeyError."""
        return self.cases[path.rpartition(".")[0]].count

    def broken(self, result: ClaimResult) -> list[str]:
        """Return in words what a failed claim rests on: which processes of an `each` break it."""
        if result.verdict.state != "fails":
            return []
        return [self._breaking(broken, result) for broken in result.verdict.broken]

    def _breaking(self, broken: expression.Broken, result: ClaimResult) -> str:
        if broken.value is not None:
            (value,) = units.apart([broken.value], constants(result.claim.holds))
            return f"{broken.source} = {value}"
        shown = broken.breaking[:BREAKING]
        flat = [value for _, given in shown for _, value in given]
        texts = iter(units.apart(flat, constants(result.claim.holds)))
        each = []
        for place, given in shown:
            rounds = [self.cases[path.rpartition(".")[0]].rounds for path, _ in given]
            values = [
                f"{path.rpartition('.')[2]} = {next(texts)}{self._unit(path)}" for path, _ in given
            ]
            each.append(f"round {rounds[0][place]} ({', '.join(values)})")
        more = ", ..." if len(broken.breaking) > BREAKING else ""
        count = f"{len(broken.breaking)} of {units.plural(broken.of, 'process')}"
        return f"{broken.source}: not in {count}: {', '.join(each)}{more}"

    def _unit(self, path: str) -> str:
        unit = self.unit(path)
        return "" if unit == "count" else f" {unit}"

    def unit(self, path: str) -> str:
        """Return the unit of a path; KeyError if the fixture has no such metric."""
        return self._kinds[path][1]

    def claims(self) -> list[ClaimResult]:
        """Return every claim's verdict; a claim with `for` has one for each value."""
        measured: dict[str, expression.Measured] = {
            f"params.{key}": value for key, value in self.params.items()
        }
        measured.update((path, self.values(path)) for path in self._kinds)
        names = claim_names(self.fixture)
        results = []
        for claim in self.fixture.claims:
            for instance in instances(self.fixture, claim, names):
                paths = instance.expression.paths
                kinds = {self._kinds[path][0] for path in paths if path in self._kinds}
                verdict = expression.evaluate_claim(instance.expression, Paths(measured))
                reason = self._lacks(claim) or claim.otherwise
                if verdict.state == "fails" and reason:
                    verdict = replace(verdict, state="undecided", reason=reason)
                kind: Kind = "time" if "time" in kinds else "count"
                results.append(ClaimResult(claim, verdict, kind, instance.of))
        return results

    def _lacks(self, claim: Claim) -> str:
        """Return why what a claim takes for granted is not so on the machine of the run, or ""."""
        if not claim.needs or not self.folios:
            return ""
        listed = " or ".join(f"{kib} KiB" for kib in self.folios)
        return (
            f"a page fault may map {listed} at once here (transparent huge pages), "
            "and the sentence counts single pages"
        )


def constants(holds: str) -> list[str]:
    """Return the numbers that stand in a claim's condition, exactly as they are written."""
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", holds)


def is_histogram(pattern: str) -> bool:
    """Return whether the lines of a pattern are a histogram: values in `ns`, each with `count`."""
    return {"ns", "count"} <= {*re.compile(pattern, re.ASCII).groupindex}


def _merged(
    known: Counter[Number] | None, columns: Mapping[str, Sequence[int | str]]
) -> Counter[Number] | None:
    """Return a histogram with another one's counts, None if either is none."""
    values, counts = columns.get("ns", []), columns.get("count", [])
    whole = [count for count in counts if isinstance(count, int)]
    if known is None or not len(values) == len(counts) == len(whole):
        return None
    for value, count in zip(values, whole, strict=True):
        known[value if isinstance(value, int) else float(value)] += count
    return known


def summarise(fixture: Fixture, stored: record.Stored) -> Summary:
    """Return the summary of a stored run, under the parameters that it ran with.

    Raises errors.DataError if those are not of the types that the fixture declares.
    """
    shown = f"{stored.shown}/{record.CONTEXT}"
    for key, value in stored.context.params.items():
        declared = type(fixture.params.get(key, value))
        if type(value) is not declared and {type(value), declared} != {int, float}:
            wanted = f"expected {declared.__name__}, got {type(value).__name__}"
            raise errors.DataError(f"{shown}: params.{visible.escape(key, 80)}: {wanted}", RESTORE)
        try:
            check_param(key, value, shown)
        except errors.SpecError as error:
            raise errors.DataError(error.what, RESTORE) from error
    params = {**fixture.params, **stored.context.params}
    folios = memory.folios(stored.context.machine)
    return Summary(fixture, params, folios).add_all(stored.samples())


def metric_kinds(fixture: Fixture) -> dict[str, tuple[Kind, str]]:
    """Return the kind and unit of every path that an expression may name."""
    return {
        f"{case.path}.{name}": (metric.kind, metric.unit)
        for program in fixture.programs
        for case in program.cases()
        for name, metric in program.metrics_of(case.mode).items()
    }


def failing(results: Iterable[ClaimResult], *, strict: bool) -> list[ClaimResult]:
    """Return the claims that make a run exit 1: those on counts, with `strict` any."""
    return [r for r in results if r.verdict.state == "fails" and (strict or r.kind == "count")]
