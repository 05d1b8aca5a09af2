import { runCommand } from "./command.ts";
import { type Env, pythonEnvironment } from "./environment.ts";
import { EngineUnavailable, WAY_OUT } from "./errors.ts";

/** `python3` first; the versioned names for systems whose default is too old. */
const CANDIDATES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];
const OLDEST = [3, 10] as const;
const PROBE = "import sys; print('%d.%d' % sys.version_info[:2])";

/** The name of a Python new enough for the engine. */
export async function findPython(env: Env, signal?: AbortSignal): Promise<string> {
  const seen: string[] = [];
  for (const name of CANDIDATES) {
    const { exitCode, lines } = await runCommand(name, ["-c", PROBE], {
      env: pythonEnvironment(env),
      signal,
    });
    const version = exitCode === 0 ? /^(\d+)\.(\d+)$/.exec(lines.at(-1) ?? "") : null;
    if (!version) continue;
    const [major, minor] = [Number(version[1]), Number(version[2])];
    if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return name;
    seen.push(`${name} is ${major}.${minor}`);
  }
  const found = seen.length > 0 ? ` (${seen.join(", ")})` : "";
  throw new EngineUnavailable(
    "python-missing",
    `The embedded AWS engine needs Python 3.10 or newer on PATH, and none was found${found}.\n` +
      "Install it (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python).\n" +
      WAY_OUT,
  );
}
