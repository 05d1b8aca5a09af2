import { anew } from "../../src/flow/parts.ts";
import { replay } from "../../src/job/edges.ts";
import { isTerminal, type State } from "../../src/job/row.ts";
import type { Fleet } from "./fleet.ts";
import { child, locked, type Nature, type Payload, plain, slow } from "./jobs.ts";

/** Whoever stands around the consumers of a random history, and what the fleet's chance lets them do. */

const NATURES: readonly Nature[] = [
  "good",
  "good",
  "good",
  "flaky",
  "killer",
  "permanent",
  "commits",
  "parent",
  "family",
  "hangs",
];
const ENDS: readonly State[] = ["succeeded", "skipped", "dead", "cancelled"];

/** One job, several at once, or one that the caller's own transaction puts. */
export function produceSome(fleet: Fleet, seed: number): void {
  const { chance } = fleet.services;
  if (chance.hit(0.15)) {
    const { contract, payload } = someJob(fleet, seed);
    fleet.intend(contract, payload);
    return;
  }
  const count = chance.hit(0.2) ? 2 + chance.below(3) : 1;
  const requests = Array.from({ length: count }, () => {
    const options = chance.hit(0.2) ? { delay: chance.pick([20_000, 400_000, 1_200_000]) } : {};
    return { ...someJob(fleet, seed), options };
  });
  // Refused where the key was taken by another payload, or where no answer came: then it is not accepted.
  fleet.produceMany(requests);
}

function someJob({ services: { chance } }: Fleet, seed: number): { contract: typeof plain; payload: Payload } {
  const contract = chance.pick([locked, locked, plain, slow]);
  const payload = {
    entity: `e${chance.below(2)}`,
    version: 1 + chance.below(4),
    nature: contract === slow ? chance.pick<Nature>(["long", "long", "killer", "hangs"]) : chance.pick(NATURES),
    ...(contract === plain && { salt: seed }),
    ...(contract === slow && { seconds: 150 }),
  };
  return { contract, payload };
}

export function sendGarbage({ transport }: Fleet, garbage: string[], seed: number): void {
  const body = `{"not":"an envelope","seed":${seed}}`;
  garbage.push(body);
  void transport.sendMany({ queue: "default", lane: "jobs" }, [{ body, attributes: {}, delaySeconds: 0 }]);
}

/** Another service takes a key that is taken, for something else. */
export function sendConflict({ transport, ledger, services: { chance } }: Fleet, garbage: string[]): void {
  const rows = [...ledger.rows.values()].filter(({ envelope }) => envelope.jobType !== child.type);
  if (rows.length === 0) return;
  const { envelope, queue } = chance.pick(rows);
  const payload = { ...(envelope.payload as object), salt: 999_999 };
  const body = JSON.stringify({ ...envelope, messageId: "conflict", payload });
  garbage.push(body);
  void transport.sendMany({ queue, lane: "jobs" }, [{ body, attributes: {}, delaySeconds: 0 }]);
}

/** Somebody cancels, asks for a job again that has ended, replays, or redrives. */
export function operate(fleet: Fleet): void {
  const { ledger, services } = fleet;
  const { chance } = services;
  const rows = [...ledger.rows.values()];
  const open = rows.filter(({ state }) => !isTerminal(state));
  const ended = rows.filter(({ state, envelope }) => isTerminal(state) && envelope.jobType !== child.type);
  const dead = ended.filter(({ state }) => state === "dead");
  const what = chance.pick(["cancel", "restart", "replay one", "replay", "redrive"] as const);
  if (what === "cancel" && open.length > 0) fleet.cancel(chance.pick(open).jobId);
  if (what === "restart" && ended.length > 0) restart(fleet, chance.pick(ended).jobId);
  if (what === "replay") fleet.replay();
  if (what === "redrive") void fleet.redrive();
  if (what !== "replay one" || dead.length === 0) return;
  const { jobId } = chance.pick(dead);
  // Sometimes two do it at once.
  for (let n = 0; n < 1 + chance.below(2); n++) replayOne(fleet, jobId);
}

function restart({ ledger, produce }: Fleet, jobId: string): void {
  const row = ledger.rows.get(jobId);
  const contract = [locked, plain, slow].find(({ type }) => type === row?.envelope.jobType);
  if (row && contract) produce(contract, row.envelope.payload as Payload, { restart: ENDS });
}

/** Opens what is finished again, as it is seen now. */
export function replayOne({ ledger, born, partsFor }: Fleet, jobId: string): void {
  const row = ledger.rows.get(jobId);
  if (row && isTerminal(row.state)) {
    const parts = partsFor(born("operator"));
    void parts.store.transitionMany([replay(row, anew(parts), parts.times)]);
  }
}

/**
 * The table's stream: each record comes at least once, within a batch. A batch whose dispatcher has died comes
 * again, and is given up after some tries.
 */
export function openStream(fleet: Fleet, after: (ms: number, act: () => void) => void): void {
  const { chance } = fleet.services;
  let waiting: string[] = [];
  const deliver = (batch: readonly string[], tries: number) => {
    const { host, done } = fleet.dispatch(batch);
    let ended = false;
    void done.then(() => {
      ended = true;
    });
    after(35_000, () => {
      if (!ended && host.dead && tries > 1) deliver(batch, tries - 1);
    });
    if (chance.hit(0.1)) fleet.dispatch(batch);
  };
  fleet.whenRecorded((jobId) => {
    waiting.push(jobId);
    if (waiting.length > 1) return;
    after(200 + chance.below(3_000), () => {
      const batch = waiting;
      waiting = [];
      deliver(batch, 3);
    });
  });
}
