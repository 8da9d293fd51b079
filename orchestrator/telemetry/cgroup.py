"""What the control groups of this process allow it: cores and memory, version 1 and 2."""

from collections.abc import Iterator
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
UNLIMITED_BYTES = 1 << 60


def cpu_limit(mount: Path = MOUNT, membership: Path = MEMBERSHIP) -> float | None:
    """Return the cores that the tightest quota allows, None where there is none."""
    quotas = [_quota(*text.split()) for text in _settings("cpu.max", mount, membership, controller="")]
    pairs = zip(
        _settings("cpu.cfs_quota_us", mount, membership, controller="cpu"),
        _settings("cpu.cfs_period_us", mount, membership, controller="cpu"),
        strict=False,
    )
    quotas += [_quota(quota, period) for quota, period in pairs]
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit(mount: Path = MOUNT, membership: Path = MEMBERSHIP) -> int | None:
    """Return the bytes that the tightest limit allows, None where there is none."""
    second = _settings("memory.max", mount, membership, controller="")
    first = _settings("memory.limit_in_bytes", mount, membership, controller="memory")
    limits = [int(text) for text in (*second, *first) if text != "max"]
    return min((limit for limit in limits if limit < UNLIMITED_BYTES), default=None)


def _quota(quota_us: str, period_us: str) -> float | None:
    return None if quota_us in {"max", "-1"} else int(quota_us) / int(period_us)


def _settings(name: str, mount: Path, membership: Path, *, controller: str) -> Iterator[str]:
    """Read one setting of every group from ours up to the root; a controller's name means version 1, none version 2."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller not in controllers.split(","):
            continue
        root = mount / controllers if (mount / controllers).is_dir() else mount / controller
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            if (folder / name).is_file():
                yield (folder / name).read_text(encoding="utf-8").strip()
