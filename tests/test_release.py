"""What would be published, as far as it can be read; `make release-check` builds and tries it."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import diastase_runtime.version
import release_check
from release_check import DISTRIBUTIONS, NotReleasable, check_wheel, relative_links

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

METADATA = """\
Metadata-Version: 2.4
Name: diastase-runtime
Version: 9.9
Summary: words
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.11
Description-Content-Type: text/markdown

[{}]({})
"""


def a_wheel(folder, without="", more=(), link="https://pypi.org"):
    info = "diastase_runtime-9.9.dist-info"
    files = {
        "diastase_runtime/__init__.py": "",
        "diastase_runtime/py.typed": "",
        f"{info}/METADATA": METADATA.format("words", link),
        f"{info}/licenses/LICENSE": "",
        **dict.fromkeys(more, ""),
    }
    path = folder / "diastase_runtime-9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            if not without or without not in name:
                archive.writestr(name, text)
    return path


def test_a_wheel_that_has_all_is_let_through(tmp_path):
    assert check_wheel(a_wheel(tmp_path), DISTRIBUTIONS[1])["Version"] == "9.9"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"without": "py.typed"}, "has no diastase_runtime/py.typed"),
        ({"without": "licenses"}, "has no licence file"),
        ({"more": ["tests/test_tiny.py"]}, r"has the packages \['diastase_runtime', 'tests'\]"),
        ({"link": "docs/index.md"}, r"lead nowhere on PyPI: \['docs/index.md'\]"),
    ],
)
def test_a_wheel_that_lacks_something_is_not(tmp_path, given, words):
    with pytest.raises(NotReleasable, match=words):
        check_wheel(a_wheel(tmp_path, **given), DISTRIBUTIONS[1])


def test_the_changelog_has_a_section_for_the_version():
    version = diastase_runtime.version.__version__
    assert release_check.check_version([{"Version": version}]) == version
    with pytest.raises(NotReleasable, match=r"no section 77\.7"):
        release_check.check_version([{"Version": "77.7"}])


def test_the_readme_has_no_links_to_files_on_pypi():
    (substitution,) = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]
    text = (ROOT / "README.md").read_text()
    assert relative_links(text)
    shown = re.sub(substitution["pattern"], substitution["replacement"], text)
    assert relative_links(shown) == []
    assert shown.count("https://docs.pennylane.ai") == text.count("https://docs.pennylane.ai")


def test_workflows_run_targets_that_the_makefile_has():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    asked = set()
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                asked |= set(re.findall(r"\bmake ([a-z-]+)", step.get("run", "")))
    assert asked == {"canary", "check", "release-check", "site"}
    assert asked <= targets | {"site"}


def test_workflows_try_the_oldest_versions_that_are_supported_and_say_what_they_may_do():
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    oldest, _ = tests["jobs"]["check"]["strategy"]["matrix"]["include"]
    assert PROJECT["project"]["requires-python"] == f">={oldest['python']}"
    (bound,) = (each for each in PROJECT["project"]["dependencies"] if each.startswith("jax"))
    assert bound.startswith(oldest["jax"].replace("==", ">="))
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {}
        assert all("timeout-minutes" in job for job in workflow["jobs"].values())
