import type { Figures } from "./consume/measure.ts";
import { SUBJECTS, type Subject } from "./consume/subject.ts";
import type { Results } from "./run.ts";
import type { Shape } from "./shapes.ts";

type Peer = Exclude<Subject, "antrean">;
type ByPeer = Readonly<Record<Peer, number>>;

/** What `--quick --json` prints. A ratio is the peer's figure over ours. */
export interface Summary {
  /** DynamoDB requests of the consumer. */
  readonly requestsPerJob: Readonly<Record<Shape, number>>;
  /** From enqueue to done, the index's included. */
  readonly writeUnitsPerJob: Readonly<Record<Shape, number>>;
  /** At batches of ten. */
  readonly cpuRatio: ByPeer;
  readonly cpuRatio100: ByPeer;
  readonly peakMemoryRatio: ByPeer;
  /** A whole process until its handler can be called. */
  readonly startRatio: ByPeer;
}

export function summaryOf({ consume, starts }: Results): Summary {
  const figures = (subject: Subject, shape: Shape): Figures => {
    const found = consume.find((one) => one.subject === subject && one.shape === shape);
    if (!found) throw new Error(`${subject} was not measured in ${shape}`);
    return found;
  };
  const ofShapes = (figure: (one: Figures) => number) => {
    const ours = consume.filter(({ subject }) => subject === "antrean");
    return Object.fromEntries(ours.map((one) => [one.shape, figure(one)])) as Record<Shape, number>;
  };
  const ofPeers = (ratio: (peer: Peer) => number) => {
    const peers = SUBJECTS.filter((subject): subject is Peer => subject !== "antrean");
    return Object.fromEntries(peers.map((peer) => [peer, ratio(peer)])) as Record<Peer, number>;
  };
  const cpu = (shape: Shape) => ofPeers((peer) => figures(peer, shape).cpuRatio?.median ?? Number.NaN);
  const peak = (subject: Subject) => figures(subject, "plain10").peakBytes ?? Number.NaN;
  const startMs = (subject: Subject) => starts.find((one) => one.subject === subject)?.ms.median ?? Number.NaN;
  return {
    requestsPerJob: ofShapes(({ dynamoRequestsPerJob }) => dynamoRequestsPerJob),
    writeUnitsPerJob: ofShapes((one) => one.producedWriteUnitsPerJob + one.writeUnitsPerJob),
    cpuRatio: cpu("plain10"),
    cpuRatio100: cpu("plain100"),
    peakMemoryRatio: ofPeers((peer) => peak(peer) / peak("antrean")),
    startRatio: ofPeers((peer) => startMs(peer) / startMs("antrean")),
  };
}
