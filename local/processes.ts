import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/**
 * Tells a process from a later one that got the same pid: its start time and command line. Undefined when
 * there is no such process, or only a zombie nobody has reaped (containers often lack an init that does).
 */
export function identityOf(pid: number): string | undefined {
  return process.platform === "linux" ? linuxIdentity(pid) : psIdentity(pid);
}

function linuxIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in brackets and may hold spaces, so count after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, startTime] = [fields[0], fields[19]];
    if (state === "Z" || state === "X") return undefined;
    return `${startTime} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()}`;
  } catch {
    return undefined;
  }
}

function psIdentity(pid: number): string | undefined {
  try {
    const line = execFileSync("ps", ["-o", "stat=,lstart=,command=", "-p", String(pid)], {
      encoding: "utf8",
    }).trim();
    const [state, ...rest] = line.split(/\s+/);
    return !state || state.startsWith("Z") ? undefined : rest.join(" ");
  } catch {
    return undefined;
  }
}

/** Ends a process group we started: asks the leader, waits, then ends what is left of the group. */
export async function endGroup(pid: number, identity: string, graceMs = 10_000): Promise<boolean> {
  if (identityOf(pid) !== identity) return false;
  signal(pid, "SIGTERM");
  await until(() => identityOf(pid) !== identity, graceMs);
  signal(-pid, "SIGKILL");
  await until(() => identityOf(pid) !== identity, graceMs);
  return true;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/** Polls until the condition holds; false when the time is over. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  withinMs: number,
  everyMs = 50,
): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    if (await condition()) return true;
    if (Date.now() > deadline) return false;
    await pause(everyMs);
  }
}
