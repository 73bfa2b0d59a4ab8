"""A distribution among the layers of the configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from doorward import ConfigError
from doorward.configuration import Loaded, find_index, find_managed

Loader = Callable[..., Loaded]


def test_a_distribution_lies_between_core_and_the_file(loaded: Loader, distro: Callable[..., None]) -> None:
    """Layers, weakest first: core's defaults, the distribution's, the file, the environment."""
    distro('[defaults]\nsurface = "minimal"\ncache = "none"\nlog_level = "info"\n[defaults.limits]\ntimeout = 9\n')
    config = loaded('cache = "redis"\n', DOORWARD_LOG_LEVEL="error").config
    assert (config.surface, config.cache, config.log_level, config.limits.timeout) == ("minimal", "redis", "error", 9)
    assert config.executor == ["monty"]


@pytest.mark.parametrize(
    ("text", "environ"), [("[limits]\ntimeout = 60", {}), ("", {"DOORWARD_LIMITS__TIMEOUT": "60"})]
)
def test_locked_keys_cannot_be_changed(
    loaded: Loader, distro: Callable[..., None], text: str, environ: dict[str, str]
) -> None:
    """A key that the distribution locks refuses another value from the file or the environment, by name."""
    distro("[locked.limits]\ntimeout = 9\n")
    assert loaded("").config.limits.timeout == 9
    with pytest.raises(ConfigError, match=r"limits.timeout = .*60.* may not be changed: acme-distro 1.2 locks it to 9"):
        loaded(text, **environ)


def test_required_plugins_come_first(loaded: Loader, distro: Callable[..., None]) -> None:
    """Plugins that the distribution requires are there whatever the file says, and replace no default."""
    distro('[required]\nplugins = ["corp"]\n')
    assert loaded("").config.plugins == ["corp", "ast", "audit_jsonl"]
    assert loaded('plugins = ["ruff", "corp"]').config.plugins == ["corp", "ruff"]


def test_a_broken_manifest_is_named(loaded: Loader, distro: Callable[..., None]) -> None:
    """A distribution whose manifest is no TOML stops the start with its name."""
    distro("[defaults")
    with pytest.raises(ConfigError, match=r"^distro\.toml of acme-distro 1\.2: cannot be read"):
        loaded("")


def test_no_variable_chooses_a_distribution(
    loaded: Loader, distro: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several distributions refuse the start. DOORWARD_DISTRO only says which one must be installed."""
    distro('[defaults]\nsurface = "minimal"\n')
    for name in ("acme", "acme-distro"):
        monkeypatch.setenv("DOORWARD_DISTRO", name)
        assert loaded("").config.surface == "minimal"
    monkeypatch.setenv("DOORWARD_DISTRO", "nobody")
    with pytest.raises(ConfigError, match=r"nobody: the installed distribution is 'acme' of acme-distro 1.2"):
        loaded("")
    distro("", name="other")
    for name in ("", "acme", "other"):
        monkeypatch.setenv("DOORWARD_DISTRO", name)
        with pytest.raises(
            ConfigError, match=r"several distributions are installed: acme of acme-distro 1.2, other of"
        ):
            loaded("")


def test_an_expected_distribution_must_be_there(loaded: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that expects a distribution's locks does not go on without them."""
    monkeypatch.setenv("DOORWARD_DISTRO", "acme")
    with pytest.raises(ConfigError, match="DOORWARD_DISTRO=acme: the installed distribution is none"):
        loaded("")


def test_a_distribution_allows_what_it_pins(distro: Callable[..., None], tmp_path: Path) -> None:
    """With a distribution only plugins that it pins, or allows by name, are in the index; the others are refused."""
    distro('allow-extra = ["extra_plugin"]\n', requires=("pinned-plugin>=2", "old-plugin<1"))
    for name in ("pinned-plugin", "old-plugin", "extra-plugin", "stranger"):
        info = tmp_path / "site" / f"{name.replace('-', '_')}-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(f"[doorward.plugins]\n{name} = {name.replace('-', '_')}\n")
    index = find_index()
    assert [e.name for e in index.of("plugin")] == ["extra-plugin", "pinned-plugin"]
    assert {"old-plugin", "stranger"} <= {e.name for e in index.refused}


def test_a_server_may_be_brought_by_the_distribution(distro: Callable[..., None]) -> None:
    """Whoever wants to remove it learns where it stands."""
    assert find_managed() is None
    distro('[defaults.servers.wiki]\nsource = "fake"\n')
    managed = find_managed()
    assert managed is not None
    assert (managed.servers, managed.given_by) == (["wiki"], "acme-distro 1.2")
