/**
 * One pure function an edge of the life of a job. Each returns the guard and the patch of one conditional
 * write; nothing here reads a clock or makes a token.
 *
 *   none --enqueue--> pending --claim--> running --succeed, skip, bury--> succeeded, skipped, dead
 *                        ^                  |
 *                        +---retry, release-+       running --claim-alone--> running   (its owner died)
 */

export { breakOwner, cancel, replay, requestCancel, touch } from "./edges/intervene.ts";
export {
  claim,
  claimAlone,
  defer,
  enqueue,
  insertClaim,
  insertDefer,
  type NewJob,
} from "./edges/open.ts";
export { LONGEST_COPY_MS, type RowTimes, SEND_AHEAD_MS, staleAgenda } from "./edges/pieces.ts";
export {
  BURY_AGAIN_MS,
  bury,
  buryAccepted,
  cancelOwned,
  extend,
  interrupt,
  release,
  retry,
  skip,
  succeed,
} from "./edges/settle.ts";
