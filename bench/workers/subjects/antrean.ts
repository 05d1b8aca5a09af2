import { handle } from "antrean";
import { createWorker } from "../../../src/worker.ts";
import { plain } from "../../contracts.ts";
import { work } from "../../work.ts";

const worker = createWorker({ concurrency: 10 }, [handle(plain, work)]);

export const run = (stop: AbortSignal): Promise<void> => worker.run(stop);
