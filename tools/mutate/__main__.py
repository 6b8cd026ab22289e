# SPDX-License-Identifier: Apache-2.0
"""Changes one operator, bound or constant at a time and sees whether a test fails.

  python3 tools/mutate                      # 200 changes, drawn by seed 1
  python3 tools/mutate --layers ops,train --count 50 --seed 7
  python3 tools/mutate --again              # only those that survived the last run
  python3 tools/mutate --list --count 5     # only says what it would change

All changes are compiled into one build, in build/mutate, beside the code as it is; an environment
variable says which one a process runs. Survivors that change nothing a user can see stand in
tools/mutate/survivors.txt with their reason. Exit code 7 if fewer than 95 % of the rest are found."""

import argparse
import collections
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import build as building  # noqa: E402
import project  # noqa: E402
import runs  # noqa: E402
import sites as site_module  # noqa: E402

WANTED = 0.95


def excused(root):
    """{(path, line of code, change): reason} of the survivors that are known."""
    found = {}
    for line in project.read(root / "tools/mutate/survivors.txt").splitlines():
        if line and not line.startswith("#"):
            path, code, change, reason = (part.strip() for part in line.split(" | "))
            found[(path, code, change)] = reason
    return found


def key(site):
    return site.path.as_posix(), site.line, site.change


def survived_before(tree):
    """The keys of the changes that survived the last run in `tree`."""
    path = tree / "build/survivors.json"
    if not path.exists():
        raise SystemExit(f"mutate: --again: {path} is missing: no run has ended in this folder")
    return {tuple(one) for one in json.loads(path.read_text())}


def say(text):
    print(text, flush=True)


def table(changes, results):
    """A line for each layer: changes, those found, and those that no test evaluates."""
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for number, (test, readers) in results.items():
        for row in (rows[changes[number].path.parts[1]], rows["all"]):
            row[0] += 1
            row[1] += test is not None
            row[2] += readers == 0
    say(f"{'layer':<12}{'changes':>9}{'found':>9}{'not run':>9}")
    for layer in sorted(rows, key=lambda name: (name == "all", name)):
        count, found, unseen = rows[layer]
        say(f"{layer:<12}{count:>9}{found:>9}{unseen:>9}")


def report(changes, results, reasons):
    table(changes, results)
    survivors = [changes[n] for n, (test, _) in sorted(results.items()) if not test]
    known = [site for site in survivors if key(site) in reasons]
    for site in survivors:
        reason = reasons.get(key(site), "")
        say(f"survivor: {' | '.join(key(site))}" + (f" | {reason}" if reason else ""))
    matter = len(results) - len(known)
    found = len(results) - len(survivors)
    rate = found / matter if matter else 1.0
    say(f"{found} of {matter} changes that change behaviour are found: {100 * rate:.1f} %")
    return rate


def options():
    parser = argparse.ArgumentParser(
        prog="mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many changes (200)")
    parser.add_argument("--seed", type=int, default=1, help="what draws them (1)")
    parser.add_argument("--layers", default=",".join(site_module.LAYERS), help="folders of src/")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--tree", type=pathlib.Path, help="where the build lies (build/mutate)")
    parser.add_argument("--again", action="store_true", help="only what survived the last run")
    parser.add_argument("--list", action="store_true", help="only list the changes")
    chosen = parser.parse_args()
    unknown = set(chosen.layers.split(",")) - {p.name for p in (HERE.parents[1] / "src").iterdir()}
    if unknown:
        parser.error(f"--layers: no folder src/{min(unknown)}")
    if chosen.count < 1 or chosen.jobs < 1:
        parser.error("--count and --jobs: at least 1")
    return chosen


def main():
    wanted = options()
    root = HERE.parents[1]
    found = site_module.all_sites(root, wanted.layers.split(","))
    chosen = site_module.choose(found, wanted.count, wanted.seed)
    changes = dict(enumerate(chosen, 1))
    say(f"{len(chosen)} of {len(found)} possible changes")
    if wanted.list:
        for site in chosen:
            say(f"{site.path}:{site.number}: {site.change}: {site.line}")
        return 0
    tree = (wanted.tree or root / "build/mutate").resolve()
    changes = building.build(root, tree, changes, wanted.jobs, say)
    say(f"built with {len(changes)} changes; recording which test evaluates which")
    tests = runs.record_all(tree / "build/release", len(chosen), wanted.jobs, say)
    tried = changes
    if wanted.again:
        before = survived_before(tree)
        tried = {n: site for n, site in changes.items() if key(site) in before}
    results = runs.try_all(tried, tests, wanted.jobs, say)
    survivors = [key(changes[n]) for n, (test, _) in results.items() if not test]
    (tree / "build/survivors.json").write_text(json.dumps(sorted(survivors), indent=1))
    return 0 if report(changes, results, excused(root)) >= WANTED else 7


if __name__ == "__main__":
    sys.exit(main())
