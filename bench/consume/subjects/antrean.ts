import { handle } from "antrean";
import { createConsumer } from "../../../src/lambda.ts";
import { locked, plain } from "../../contracts.ts";
import { work } from "../../work.ts";

export const handler = createConsumer({}, [handle(plain, work), handle(locked, work)]);
