import { contentionDelayMs } from "../job/backoff.ts";
import { breakOwner, release } from "../job/edges.ts";
import { tenantOf } from "../job/envelope.ts";
import { type Acquisition, type LockAnswer, lockIdOf } from "../job/lock.ts";
import { type Batch, guarded, leave, type Ready } from "./batch.ts";
import { anew, refOf } from "./parts.ts";
import { acquireAll, transitionOne } from "./persist.ts";
import { settle, skipUnrun } from "./settle.ts";

/** An expired holder is broken, then replaced; a third look means that others are at it as well. */
const MAX_LOOKS = 3;

interface Asking {
  readonly ready: Ready;
  readonly replaces: string | undefined;
}

/**
 * Acquires for all that have a lock key, and raises the started version in the same write:
 *
 *   newer started -> skipped; held -> released, to come back; expired -> holder's row broken, lock replaced
 */
export async function lockAll(readies: readonly Ready[], batch: Batch): Promise<readonly Ready[]> {
  const locked = readies.filter(({ row }) => row.lockKey === undefined);
  let open: readonly Asking[] = readies.flatMap((ready) =>
    ready.row.lockKey === undefined ? [] : [{ ready, replaces: undefined }],
  );
  for (let look = 0; open.length > 0; look++) {
    const asked = open.map((asking) => acquisitionOf(asking, batch));
    const answers = await acquireAll(batch.parts, asked);
    const again: Asking[] = [];
    await Promise.all(
      open.map(({ ready }, at) =>
        guarded(batch, ready.delivery, "lock", async () => {
          const answer = answers[at];
          if (answer?.kind === "acquired") {
            const { lockId, token } = asked[at] as Acquisition;
            locked.push({ ...ready, lock: { lockId, token, fence: answer.fence } });
          } else if (answer?.kind === "expired" && look < MAX_LOOKS) {
            await breakHolder(answer, batch);
            again.push({ ready, replaces: answer.token });
          } else await turnAway(ready, answer, batch);
        }),
      ),
    );
    open = again;
  }
  return locked;
}

/** Without the lock: skipped, or released to come back later; its attempt was none. */
async function turnAway(ready: Ready, answer: LockAnswer | undefined, batch: Batch): Promise<void> {
  const { row, delivery } = ready;
  const { parts } = batch;
  if (answer?.kind === "superseded") return skipUnrun(ready, `superseded by version ${answer.by}`, batch);
  if (answer?.kind !== "held" && answer?.kind !== "expired") {
    return leave(batch, delivery, "lock", answer?.kind === "failed" ? answer.error : undefined);
  }
  const nowMs = parts.runtime.now();
  const contentions = row.contentions ?? 0;
  const untilMs = answer.kind === "held" ? answer.untilMs : nowMs;
  const delayMs = contentionDelayMs(contentions, parts.runtime.random(), untilMs - nowMs);
  const event = { type: "contended", job: refOf(row), delayMs } as const;
  await settle(ready, release(row, anew(parts, delayMs), parts.times, contentions + 1), event, batch);
}

/**
 * The holder's row first: from here its owner can't settle, should it wake up. A refusal means that the row
 * has moved on by itself, and only the lock was left behind.
 */
async function breakHolder({ holder, token }: { holder: string; token: string }, { parts }: Batch): Promise<void> {
  const [row] = await parts.store.readMany([holder]);
  if (row?.state !== "running" || row.token !== token) return;
  const { runtime } = parts;
  const answer = await transitionOne(parts, breakOwner(row, { nowMs: runtime.now(), token: runtime.token() }));
  if (answer.kind === "failed") throw answer.error;
  if (answer.kind === "won") parts.events.emit({ type: "owner-broken", job: refOf(answer.row) });
}

function acquisitionOf({ ready: { row }, replaces }: Asking, { parts, deadlineMs }: Batch): Acquisition {
  const { envelope, lockKey, version, jobId, token } = row;
  return {
    lockId: lockIdOf(tenantOf(envelope), lockKey ?? ""),
    token,
    holder: jobId,
    nowMs: parts.runtime.now(),
    claimableAtMs: row.claimableAtMs ?? deadlineMs + parts.times.skewMarginMs,
    jobType: envelope.jobType,
    version,
    replaces,
  };
}
