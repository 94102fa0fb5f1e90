# SPDX-License-Identifier: Apache-2.0
"""docs/reference/clients.md: its programs run, and every name that it tells is there; the
folders of the clients can be installed."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from clients.language import build, go_env, needs # noqa: E402
from lib.daemon import Place, program # noqa: E402

PAGE = ROOT / "docs/reference/clients.md"
SENT = "sent to ann sent to bob sent to cid"
SECONDS = 120


def programs():
    """section → {"client", "worker"}: its two programs."""
    found, section, block = {}, None, None
    for line in PAGE.read_text().splitlines(keepends=True):
        if block is None and line.startswith("#"):
            section = line.strip("# \n")
        elif block is None and line.startswith("```"):
            kind = "worker" if line.endswith(" worker\n") else "client"
            block = found.setdefault(section, {})[kind] = []
        elif line.startswith("```"):
            block = None
        elif block is not None:
            block.append(line)
    return {section: {kind: "".join(lines) for kind, lines in both.items()}
            for section, both in found.items()}


def run_python(folder, name):
    return [sys.executable, "-B", str(folder / f"{name}.py")], {"PYTHONPATH": str(ROOT / "clients/python")}


def run_node(folder, name):
    (folder / "node_modules").mkdir(exist_ok=True)
    link = folder / "node_modules/pawl"
    if not link.exists():
        link.symlink_to(ROOT / "clients/node")
    return [*needs("node"), str(folder / f"{name}.mjs")], {}


def run_ruby(folder, name):
    return [*needs("ruby"), "-I", str(ROOT / "clients/ruby"), str(folder / f"{name}.rb")], {}


def run_php(folder, name):
    return [*needs("php"), "-d", f"include_path={ROOT}/clients/php", str(folder / f"{name}.php")], {}


def run_go(folder, name):
    go, = needs("go")
    (folder / "go.mod").write_text(f"module doc\n\ngo 1.19\n\nrequire pawl v0.0.0\n\n"
                                   f"replace pawl => {ROOT}/clients/go\n")
    build([go, "build", "-o", f"{name}.run", f"{name}.go"], folder, **go_env())
    return [str(folder / f"{name}.run")], {}


def run_c(folder, name):
    """Against the library that is tested, which the sanitizers watch."""
    cc, = needs("cc")
    lib = pathlib.Path(program()).resolve().parents[1] / "clients/c"
    watched = ["-fsanitize=address,undefined"] if lib.parents[1].name == "asan" else []
    build([cc, "-Wall", "-Wextra", "-Werror", f"{name}.c", "-o", f"{name}.run", *watched,
           f"-I{ROOT}/clients/c", f"-L{lib}", "-lpawl"], folder)
    return [str(folder / f"{name}.run")], {"LD_LIBRARY_PATH": str(lib)}


RUN = {"Python": (".py", run_python), "asyncio": (".py", run_python), "Node": (".mjs", run_node),
       "Ruby": (".rb", run_ruby), "PHP": (".php", run_php), "Go": (".go", run_go),
       "C": (".c", run_c)}


def test_every_client_has_its_programs_on_the_page():
    found = programs()
    assert list(found) == list(RUN)
    assert all(set(both) == {"client", "worker"} for both in found.values())


@pytest.fixture(scope="module")
def node():
    with Place() as place:
        made = place.daemon().start()
        made.api().request("PUT", "/handlers/mail", {"lang": "pull"})
        yield made


@pytest.mark.parametrize("section", RUN)
def test_the_programs_of_the_page_run(node, tmp_path, section):
    (suffix, command_of), both = RUN[section], programs()[section]
    started = []
    for name in ("worker", "client"):
        text = both[name].replace("127.0.0.1:7420", "%s:%d" % node.address())
        (tmp_path / f"{name}{suffix}").write_text(text)
        command, env = command_of(tmp_path, name)
        started.append(subprocess.Popen(command, env={**os.environ, **env}, cwd=tmp_path,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
    work, ask = started
    try:
        said = ask.communicate(timeout=SECONDS)[0].decode()
        assert ask.returncode == 0
        assert " ".join(re.sub(r"[\[\]',]", " ", said).split()) == SENT
        work.send_signal(signal.SIGTERM)
        assert work.wait(SECONDS) == 0
    finally:
        for process in started:
            process.kill()
            process.communicate()


FILES = {"python/pawl.py": "Client Worker AsyncClient AsyncWorker Error Unreachable Retry Fail Snooze add "
                           "add_many get wait cancel run stop progress",
         "node/pawl.mjs": "Client Worker PawlError Retry Fail Snooze parse stringify add addMany add_many get "
                          "wait cancel run stop progress",
         "ruby/pawl.rb": "Client Worker Error Unreachable Retry Fail Snooze add add_many get wait cancel run "
                         "stop progress",
         "php/Pawl.php": "Client Worker Error Unreachable Retry Fail Snooze add addMany add_many get wait "
                         "cancel run stop progress",
         "c/pawl.h": "pawl_client_new pawl_add pawl_add_many pawl_get pawl_wait pawl_cancel pawl_worker_new "
                     "pawl_worker_run pawl_worker_stop pawl_job_progress pawl_job_snooze",
         "go/pawl.go": "NewClient NewWorker Error Retry Fail Snooze Add AddMany Get Wait Cancel Run Stop "
                       "Progress"}


@pytest.mark.parametrize("file", FILES)
def test_the_names_are_those_of_the_page(file):
    source, told = (ROOT / "clients" / file).read_text(), PAGE.read_text()
    for name in FILES[file].split():
        assert re.search(rf"(?m)(class|def|func|function|type|const)\b[^\n=;{{]*\b{name}\b"
                         rf"|^  (async )?{name}\(|^\w[\w *]*\b{name}\(",
                         source), f"{file} has no {name}"
        assert re.search(rf"\b{name}\b", told), f"the page does not tell of {name}"


def test_one_version_everywhere():
    said = {file: re.search(r"VERSION = .(\d+\.\d+\.\d+)|Version = .(\d+\.\d+\.\d+)",
                            (ROOT / "clients" / file).read_text()).group(0).split()[-1].strip("'\";")
            for file in FILES if file != "c/pawl.h"}
    said["c"] = re.search(r"version: '(.*?)'", (ROOT / "clients/c/meson.build").read_text())[1]
    said["pyproject"] = re.search(r'(?m)^version = "(.*)"$',
                                  (ROOT / "clients/python/pyproject.toml").read_text())[1]
    said["gemspec"] = re.search(r'version = "(.*)"', (ROOT / "clients/ruby/pawl.gemspec").read_text())[1]
    for name in ("node/package.json", "php/composer.json"):
        said[name] = json.loads((ROOT / "clients" / name).read_text())["version"]
    assert len(set(said.values())) == 1, said


# --- Installing from the folder ------------------------------------------------------------

def test_pip_installs_the_folder(tmp_path):
    python = sys.executable
    for need in ("pip", "setuptools"):
        if subprocess.run([python, "-c", f"import {need}"], capture_output=True).returncode:
            pytest.skip(f"python has no {need} here")
    shutil.copytree(ROOT / "clients/python", tmp_path / "python") # it builds beside the source
    build([python, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps",
           "--target", str(tmp_path / "to"), str(tmp_path / "python")])
    build([python, "-c", "import pawl; pawl.Client('fake:').add('x')"], tmp_path,
          PYTHONPATH=str(tmp_path / "to"))


def test_npm_installs_the_folder(tmp_path):
    node, npm = needs("node", "npm")
    build([npm, "install", "--offline", "--no-audit", "--no-fund", "--prefix", str(tmp_path),
           str(ROOT / "clients/node")], tmp_path)
    (tmp_path / "try.mjs").write_text("import { Client } from 'pawl';\nawait new Client('fake:').add('x');\n")
    build([node, "try.mjs"], tmp_path)


def test_gem_installs_the_folder(tmp_path):
    ruby, gem = needs("ruby", "gem")
    build([gem, "build", "-o", str(tmp_path / "pawl.gem"), "pawl.gemspec"], ROOT / "clients/ruby")
    home = {"GEM_HOME": str(tmp_path / "gems")}
    build([gem, "install", "--local", "--no-document", str(tmp_path / "pawl.gem")], tmp_path, **home)
    build([ruby, "-e", "gem 'pawl'; require 'pawl'; Pawl::Client.new('fake:').add('x')"], tmp_path, **home)


def test_composer_installs_the_folder(tmp_path):
    php, composer = needs("php", "composer")
    (tmp_path / "composer.json").write_text(json.dumps({
        "require": {"pawl/pawl": "*"},
        "repositories": [{"type": "path", "url": str(ROOT / "clients/php")}, {"packagist.org": False}]}))
    build([composer, "install", "--no-interaction", "--no-plugins", "--quiet"], tmp_path,
          COMPOSER_DISABLE_NETWORK="1", COMPOSER_HOME=str(tmp_path / "home"),
          COMPOSER_ALLOW_SUPERUSER="1")
    build([php, "-r", "require 'vendor/autoload.php'; (new Pawl\\Client('fake:'))->add('x');"], tmp_path)


TYPED = """
import { Client, Job, PawlError, Snooze, Worker } from 'pawl';
const client = new Client('fake:', undefined, { tenant: 'a', retryFor: 1 });
const id: string = await client.add('x', { a: 1 }, { priority: 7 });
const ids: (string | null)[] = await client.addMany([{ type: 'x', payload: 'y' }]);
const handler = async (job: Job) => {
  job.progress(5);
  if (job.cancelled) throw new Snooze(1);
  return job.json().a;
};
await new Worker(client, { x: handler }, 2, { lease: 5 }).run();
const state: string = (await client.wait(id, 1)).state;
if (!state || !ids) throw new PawlError('odd', 'this cannot be', 500);
"""


def test_typescript_knows_the_types(tmp_path):
    """And refuses what they do not allow."""
    tsc, _ = needs("tsc", "node")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/pawl").symlink_to(ROOT / "clients/node")
    (tmp_path / "good.mts").write_text(TYPED)
    (tmp_path / "bad.mts").write_text(TYPED.replace("add('x'", "add(7"))
    said = subprocess.run([tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "node16",
                           "--moduleResolution", "node16", "good.mts", "bad.mts"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=SECONDS)
    assert [line[:11] for line in said.stdout.splitlines()] == ["bad.mts(4,3"], said
