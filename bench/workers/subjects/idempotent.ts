import { once } from "../../consume/subjects/by-hand.ts";
import { consume } from "./consume.ts";

export const run = (stop: AbortSignal): Promise<void> =>
  consume(({ MessageId: messageId = "", Body: body = "" }) => once({ messageId, body }), stop);
