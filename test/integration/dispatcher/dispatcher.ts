import { createDispatcher } from "../../../src/index.ts";

export const handler = createDispatcher();
