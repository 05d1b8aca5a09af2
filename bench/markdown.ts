import { SUBJECTS, type Subject } from "./consume/subject.ts";
import type { Results } from "./run.ts";
import { SHAPES, type Shape } from "./shapes.ts";
import type { Spread } from "./statistics.ts";
import type { WorkerSubject } from "./workers/fleet.ts";

const NAMES: Readonly<Record<Subject, string>> = {
  antrean: "Antrean",
  powertools: "Powertools",
  middy: "middy, by hand",
  handwritten: "by hand",
};
/** Beside each figure: what it buys, and what the others leave out. */
const LACKS: Readonly<Record<Subject, string>> = {
  antrean: "a row from the producer on, lease, fence, history",
  powertools: "no row before the message, no fence, no locks, no delayed retry; its record expires and is a cache",
  middy: "the same; a key whose worker died is blocked until its record expires",
  handwritten: "the same as middy",
};
const WORKERS: Readonly<Record<WorkerSubject, string>> = {
  antrean: "Antrean's worker",
  idempotent: "sqs-consumer, idempotent by hand (two writes)",
  bare: "sqs-consumer, one bare UpdateItem",
};
const TITLES: Readonly<Record<Shape, string>> = {
  plain10: "Batches of 10, handlers that end at once",
  plain100: "Batches of 100, handlers that end at once",
  locked10: "Batches of 10, each job with lock and version",
  spread10: "Batches of 10, handlers of 20, 40 ... 200 ms",
};

/** bench/RESULTS.md. */
export function markdown({ consume, starts, endurance, workers, plan, node, cpus, measuredAt }: Results): string {
  const sections = [
    "# Results",
    `Written by \`npm run bench\` on ${measuredAt.slice(0, 10)}: Node ${node}, ${cpus} cores. How it measures, and what would change the picture: [README.md](./README.md). A ratio is the other's figure over ours, the median of ${plan.consume.rounds} rounds with the least and the greatest; over 1, ours is the smaller.`,
  ];
  for (const shape of Object.keys(SHAPES) as Shape[]) {
    const rows = consume.filter((one) => one.shape === shape);
    sections.push(
      `## ${TITLES[shape]}`,
      table(
        [
          "",
          "DynamoDB requests a job",
          "write units",
          "read units",
          "CPU µs a job",
          "CPU ratio",
          "batch p50, p95 ms",
          "what it does not do",
        ],
        rows.map((one) => [
          NAMES[one.subject],
          one.dynamoRequestsPerJob.toFixed(2),
          one.producedWriteUnitsPerJob > 0
            ? `${one.writeUnitsPerJob.toFixed(1)} + ${one.producedWriteUnitsPerJob.toFixed(1)} of the producer`
            : one.writeUnitsPerJob.toFixed(1),
          one.readUnitsPerJob.toFixed(1),
          spreadOf(one.cpuMicrosPerJob, 0),
          one.cpuRatio ? spreadOf(one.cpuRatio, 2) : "",
          `${one.batchMs.p50.toFixed(1)}, ${one.batchMs.p95.toFixed(1)}`,
          one.subject === "antrean" ? `(does: ${LACKS.antrean})` : LACKS[one.subject],
        ]),
      ),
    );
  }
  const peak = (subject: Subject) =>
    consume.find((one) => one.subject === subject && one.shape === "plain10")?.peakBytes ?? Number.NaN;
  sections.push(
    "## A process",
    table(
      ["", "peak memory MB, batches of 10", "until the handler can be called, ms", "bundle KB"],
      SUBJECTS.map((subject) => {
        const one = starts.find((candidate) => candidate.subject === subject);
        return [
          NAMES[subject],
          (peak(subject) / 1_048_576).toFixed(0),
          one ? spreadOf(one.ms, 0) : "",
          ((one?.bytes ?? 0) / 1_024).toFixed(0),
        ];
      }),
    ),
  );
  if (endurance) {
    const [first = 0, last = 0] = [endurance.heapBytes[0], endurance.heapBytes.at(-1)];
    const megabytes = (bytes: number) => (bytes / 1_048_576).toFixed(1);
    sections.push(
      "## One process, job after job",
      `${endurance.jobs.toLocaleString("en")} jobs in one process: ${megabytes(first)} MB in use after the first tenth, ${megabytes(last)} MB at the end; ${endurance.bytesPerJob.toFixed(1)} bytes a job over the second half.`,
    );
  }
  if (workers) {
    sections.push(
      "## Worker processes on the local AWS",
      `${plan.workers?.jobs.toLocaleString("en")} jobs wait in the queue; processes of ten jobs at once; MiniStack and all of them on ${cpus} cores. The ratio is the other's jobs a second over ours: under 1, ours is the faster.`,
      table(
        ["", "processes", "jobs a second", "ratio"],
        workers.throughput.map(({ subject, workers: size, jobsPerSecond, ratio }) => [
          WORKERS[subject],
          String(size),
          spreadOf(jobsPerSecond, 0),
          ratio ? spreadOf(ratio, 2) : "",
        ]),
      ),
      "From accept to done, as Antrean's rows tell:",
      table(
        ["processes", "jobs a second", "p50 ms", "p95 ms", "p99 ms"],
        workers.latency.map(({ workers: size, perSecond, ms }) =>
          [size, perSecond, ms.p50, ms.p95, ms.p99].map((figure) => String(Math.round(figure))),
        ),
      ),
    );
  }
  return `${sections.join("\n\n")}\n`;
}

function spreadOf({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, at) => (at === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
