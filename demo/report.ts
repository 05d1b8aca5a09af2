import type { Counts, Verdict } from "./check.ts";

/** Which engine and Node ran it, and for how long. */
export interface Run {
  readonly engine: string;
  readonly node: string;
  readonly durationMs: number;
  /** What of it is still there to look at; undefined when nothing is. */
  readonly remains: string | undefined;
}

/** The one object of `--json`. */
export function summary({ engine, node, durationMs }: Run, counts: Counts): object {
  const { accepted, duplicates, succeeded, skipped, retried, deferred, dead, rescued } = counts;
  const { effects, doubledEffects, uncertainRepeats, lost } = counts;
  return {
    ...{ engine, node, accepted, duplicates, succeeded, skipped, retried, deferred, dead, rescued },
    ...{ effects, doubledEffects, uncertainRepeats, lost, durationMs },
  };
}

const OUTCOMES = ["succeeded", "skipped", "dead", "deferred", "running", "pending"];

/** For people. */
export function report({ counts, byType, problems }: Verdict): readonly string[] {
  const { accepted, duplicates, retried, rescued, dead, effects, doubledEffects, uncertainRepeats, lost } = counts;
  const shown = OUTCOMES.filter((outcome) => [...byType.values()].some((outcomes) => outcomes.has(outcome)));
  const table = [...byType].map(([type, outcomes]) => [
    type,
    ...shown.map((outcome) => String(outcomes.get(outcome) ?? 0)),
  ]);
  const reasons = Object.entries(dead).map(([reason, n]) => [reason, String(n)]);
  const total = Object.values(dead).reduce((sum, n) => sum + n, 0);
  return [
    "",
    ...columns([["jobs by type and outcome", ...shown], ...table]),
    "",
    ...columns([["messages in the DLQ by reason", String(total)], ...reasons]),
    "",
    `${accepted} jobs accepted, ${duplicates} repeats answered as duplicates, ${retried} jobs tried more than once`,
    `${rescued} jobs whose message was never sent: found by the reconciler and run`,
    `${effects} effects by the provider's own ledger: ${doubledEffects} doubled, ${uncertainRepeats} calls repeated after an answer that told nothing`,
    `${lost} lost`,
    "",
    ...(problems.length === 0 ? ["Every check passed."] : ["These checks failed:", ...limited(problems)]),
  ];
}

/** The last line: on what it ran, and where to look next. */
export function conclusion({ engine, node, durationMs, remains }: Run): string {
  const seconds = (durationMs / 1_000).toFixed(0);
  const next = remains ?? "README.md and docs/ say how it works; after `npm run local` the deployed stack stays";
  const where = engine === "memory" ? "engine: memory (no AWS was involved)" : `engine: ${engine}`;
  return `${where}, Node ${node}, ${seconds} s. Where to look next: ${next}.`;
}

function limited(problems: readonly string[]): readonly string[] {
  const shown = problems.slice(0, 20).map((problem) => `- ${problem}`);
  return problems.length > shown.length ? [...shown, `- and ${problems.length - shown.length} more`] : shown;
}

/** The first column to the left, numbers to the right. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
  );
}
