"""The rules of every engine adapter, as a test class: subclass it, set its attributes, let pytest run it.

Imports neither pytest nor an engine, starts nothing; a failed check raises AssertionError that names the rule.
"""

# ruff: noqa: S101 - a published test class: assert is how it speaks

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

from pydantic import ValidationError

from adapters.conformance.transcript import Transcript, scan, slices, summarise
from adapters.openai import Dialect
from adapters.protocol import (
    EngineAdapter,
    EngineConfig,
    Hardware,
    LaunchPlan,
    LengthControl,
    ModelRef,
    StartFailure,
    Violation,
)

CANONICAL: Mapping[str, tuple[Literal["gauge", "counter", "histogram"], str]] = {
    "engine_requests_running": ("gauge", "requests"),
    "engine_requests_waiting": ("gauge", "requests"),
    "kv_cache_utilization": ("gauge", "ratio"),
    "engine_input_tokens": ("counter", "tokens"),
    "engine_output_tokens": ("counter", "tokens"),
    "prefix_cache_hit_tokens": ("counter", "tokens"),
    "prefix_cache_query_tokens": ("counter", "tokens"),
    "engine_preemptions": ("counter", "preemptions"),
    "spec_draft_tokens": ("counter", "tokens"),
    "spec_accepted_tokens": ("counter", "tokens"),
    "engine_ttft": ("histogram", "seconds"),
}
"""Kind and unit of each name that an engine's own series may be given (docs/METRICS.md)."""

ODD_TEXTS = (
    "",
    "\n",
    "\x00",
    "\ud800",
    "%s {} \\",
    "(" * 200,
    "é" * 5000,
    "Traceback (most recent call last):",
    "a\n" * 3000,
)
FIRST_PORT = 21001
PART_SIZES_BYTES = (1, 7)


class AdapterConformance:
    """The rules; pytest collects subclasses whose name begins with `Test`."""

    adapter: EngineAdapter
    """The adapter under test."""
    model: ModelRef
    """A model that the engine can serve."""
    hardware: Hardware
    """A machine on which that model fits."""
    examples: Sequence[EngineConfig]
    """Configurations beside the default, together setting every kind of field."""
    not_passed: frozenset[str] = frozenset()
    """Fields that are ours and that the engine never sees, such as `tp` of an engine with one rank."""
    transcripts: Mapping[str, bytes] = {}
    """Bodies of the engine's streamed answers, recorded or as documented, by name; `Transcript` says what names mean.

    With none, nothing is said about its streams.
    """

    def _ports(self, first: int = FIRST_PORT) -> dict[str, int]:
        return {name: first + offset for offset, name in enumerate(self.adapter.port_names())}

    def _plan(self, config: EngineConfig, first_port: int = FIRST_PORT) -> LaunchPlan:
        return self.adapter.launch_plan(config, self.model, ports=self._ports(first_port))

    def _default(self) -> EngineConfig:
        return self.adapter.config_type()

    def _answers(self) -> Iterator[tuple[Transcript, Dialect]]:
        for name, body in self.transcripts.items():
            answer = Transcript(name, body)
            assert answer.route is not None, f"a transcript's name must begin with completions- or chat-, saw {name!r}"
            yield answer, Dialect(answer.route, self.adapter.capabilities)

    def test_first_port_is_called_http(self) -> None:
        """Every deployer asks for a port by this name."""
        names = self.adapter.port_names()
        assert names[:1] == ("http",), f"port_names() must begin with 'http', saw {names}"
        assert len(set(names)) == len(names), f"port_names() must not repeat a name, saw {names}"

    def test_examples_say_something(self) -> None:
        """Without an example that differs from the default the checks below would check nothing."""
        assert any(config != self._default() for config in self.examples), "examples must differ from the default"

    def test_defaults_pass_the_check(self) -> None:
        """Trial 0 is the default."""
        found = self.adapter.check(self._default(), self.model, self.hardware)
        assert found == [], f"the default configuration must pass check(), saw {found}"

    def test_violations_name_a_field(self) -> None:
        """A violation leads a person to the key to change."""
        keys = {*type(self._default()).model_fields, "model", "hardware"}
        for config in self.examples:
            for found in self.adapter.check(config, self.model, self.hardware):
                assert isinstance(found, Violation), f"check() must list Violations, saw {found!r}"
                assert found.key in keys, f"a violation must name a field of the configuration, saw {found.key!r}"

    def test_unknown_key_is_refused_by_name(self) -> None:
        """A misspelt setting must not be taken for a default."""
        refusal = None
        try:
            self.adapter.config_type.model_validate({"no_such_setting": 1})
        except ValidationError as error:
            refusal = str(error)
        assert refusal is not None, "an unknown key must be refused; set extra='forbid'"
        assert "no_such_setting" in refusal, f"the refusal must name the key, saw {refusal}"

    def test_configuration_is_frozen_and_survives_json(self) -> None:
        """The journal gives back what was recorded."""
        for config in (self._default(), *self.examples):
            again = type(config).model_validate_json(config.model_dump_json())
            assert again == config, f"a configuration must survive JSON, {config!r} became {again!r}"
            assert config.model_config.get("frozen"), "a configuration must be frozen"

    def test_plan_depends_on_nothing_else(self) -> None:
        """Equal input gives an equal plan."""
        for config in (self._default(), *self.examples):
            first, second = self._plan(config), self._plan(config.model_copy())
            assert first == second, f"equal input must give an equal plan, saw {first} and {second}"

    def test_every_setting_reaches_the_plan(self) -> None:
        """A field that changes nothing would make two equal trials look like two different ones."""
        for config in self.examples:
            for name in config.model_fields_set - self.not_passed:
                default = getattr(self._default(), name)
                if getattr(config, name) == default:
                    continue
                with_it, without_it = self._plan(config), self._plan(config.model_copy(update={name: default}))
                changed = (with_it.argv, dict(with_it.env)) != (without_it.argv, dict(without_it.env))
                assert changed, f"{name}={getattr(config, name)!r} must change argv or env"

    def test_no_flag_is_given_twice(self) -> None:
        """Engines silently take the last one."""
        for config in (self._default(), *self.examples):
            argv = self._plan(config).argv
            assert all(isinstance(word, str) for word in argv), f"argv must hold text only, saw {argv}"
            flags = Counter(word.partition("=")[0] for word in argv if word.startswith("--"))
            twice = [flag for flag, count in flags.items() if count > 1]
            assert not twice, f"each flag must be given once, twice: {twice} in {argv}"

    def test_ports_are_honoured(self) -> None:
        """Two trials on one machine must not meet."""
        for config in (self._default(), *self.examples):
            for first in (FIRST_PORT, FIRST_PORT + 1000):
                plan = self._plan(config, first)
                assert dict(plan.ports) == self._ports(first), f"plan.ports must be those given, saw {plan.ports}"
                text = " ".join([*plan.argv, *plan.env.values()])
                for name, port in plan.ports.items():
                    assert str(port) in text, f"port {name} {port} must reach argv or env, saw {text}"

    def test_plan_can_be_followed(self) -> None:
        """A supervisor guesses nothing."""
        plan = self._plan(self._default())
        assert "".join(plan.argv[:1]), f"argv must begin with a program, saw {plan.argv}"
        assert plan.served_model, "served_model must not be empty"
        paths = [plan.health_path, *([plan.metrics_path] if plan.metrics_path else [])]
        assert all(path.startswith("/") for path in paths), f"paths must begin with a slash, saw {paths}"

    def test_metrics_have_canonical_names(self) -> None:
        """A chart of one engine must overlay that of another."""
        for series, metric in self.adapter.server_metrics().items():
            for name in (metric.name, *metric.adds_to):
                assert name in CANONICAL, f"{series}: {name!r} is not among {', '.join(CANONICAL)}"
                kind, unit = CANONICAL[name]
                seen = (metric.kind, metric.unit)
                assert seen == (kind, unit), f"{series}: {name} is a {kind} in {unit}, saw {seen}"
            assert 0 < metric.scale < float("inf"), f"{series}: scale must be positive and finite, saw {metric.scale}"

    def test_metrics_are_unique(self) -> None:
        """Two series under one name would overwrite each other; parts of a sum say so by `adds_to`."""
        names = Counter(metric.name for metric in self.adapter.server_metrics().values())
        twice = [name for name, count in names.items() if count > 1]
        assert not twice, f"each canonical name must be given to one series, twice: {twice}"

    def test_classifier_is_total(self) -> None:
        """Whatever the log ends with, there is an answer."""
        for text in ODD_TEXTS:
            found = self.adapter.classify_failure(text)
            assert isinstance(found, StartFailure), f"classify_failure({text[:40]!r}) gave {found!r}"

    def test_empty_log_is_unknown(self) -> None:
        """No log is no reason."""
        assert self.adapter.classify_failure("") is StartFailure.UNKNOWN, "an empty log must be classified as unknown"

    def test_capabilities_are_possible(self) -> None:
        """The client relies on them."""
        seen = self.adapter.capabilities
        control = seen.output_length_control
        assert control in (None, *get_args(LengthControl)), (
            f"output_length_control must be one of the protocol's, saw {control!r}"
        )
        path = seen.cache_reset_path
        assert path is None or path.startswith("/"), f"cache_reset_path must begin with a slash, saw {path!r}"

    def test_transcripts_cover_every_route(self) -> None:
        """Each route has a dialect of its own."""
        spoken = {answer.route for answer, _ in self._answers() if answer.is_whole and answer.outputs()}
        missing = set(self.adapter.capabilities.routes) - spoken if self.transcripts else set()
        assert not missing, f"each route needs a transcript of a whole answer with text, missing: {sorted(missing)}"

    def test_the_first_token_is_the_first_output(self) -> None:
        """A role, an empty chunk or a comment is no token."""
        for answer, dialect in self._answers():
            seen = list(scan(dialect, answer.events()).chunk_ns)
            expected = answer.outputs()
            assert seen == expected, f"{answer.name}: output is in events {expected} (from 0), the scanner saw {seen}"

    def test_a_stream_says_the_same_however_it_is_cut(self) -> None:
        """A network cuts where it likes."""
        for answer, dialect in self._answers():
            whole = summarise(scan(dialect, [answer.body]))
            for size in PART_SIZES_BYTES:
                seen = summarise(scan(dialect, slices(answer.body, size)))
                assert seen == whole, f"{answer.name}: parts of {size} bytes must say {whole}, saw {seen}"

    def test_an_answer_is_whole_only_where_it_ends(self) -> None:
        """A stream that breaks off, or tells an error, is a failed request."""
        for answer, dialect in self._answers():
            seen = summarise(scan(dialect, [answer.body]))
            is_whole = seen.may_end and seen.error is None and seen.malformed is None
            assert is_whole is answer.is_whole, f"{answer.name}: a whole answer is {answer.is_whole}, saw {seen}"
            end = answer.end(sends_done=dialect.capabilities.sends_done)
            before = scan(dialect, answer.events()[:end])
            assert not before.may_end or end is None, f"{answer.name}: it must not end before its event {end} (from 0)"

    def test_usage_is_found_and_counts_the_output(self) -> None:
        """The server's own count comes first; where it differs from ours, the transcript's name must say why."""
        for answer, dialect in self._answers():
            seen = scan(dialect, [answer.body])
            found = (seen.usage.input_tokens, seen.usage.output_tokens) if seen.usage else None
            expected = answer.usage()
            assert found == expected, f"{answer.name}: usage is {expected}, the scanner saw {found}"
            is_due = dialect.capabilities.usage_in_stream and answer.is_whole
            assert expected or not is_due, f"{answer.name}: usage_in_stream promises usage, the transcript has none"
            if expected and answer.is_whole:
                more = expected[1] - seen.output_tokens
                is_right = more > 0 if answer.counts_more else more == 0
                assert is_right, f"{answer.name}: usage counts {expected[1]} tokens, the events {seen.output_tokens}"
