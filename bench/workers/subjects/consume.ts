import { type Message, SQSClient } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { CLIENT } from "../../clients.ts";

/** sqs-consumer as its README has it, ten at once, each deleted when it has ended and not before. */
export async function consume(once: (message: Message) => Promise<void>, stop: AbortSignal): Promise<void> {
  const consumer = Consumer.create({
    queueUrl: process.env.BENCH_QUEUE_URL ?? "",
    sqs: new SQSClient({ ...CLIENT, useQueueUrlAsEndpoint: false }),
    batchSize: 10,
    waitTimeSeconds: 20,
    handleMessageBatch: async (messages) => {
      await Promise.all(messages.map(once));
      return messages;
    },
  });
  // A poll that is cut at the end is no failure of the bench.
  consumer.on("error", (error) => stop.aborted || process.stderr.write(`${error.stack}\n`));
  consumer.on("processing_error", (error) => process.stderr.write(`${error.stack}\n`));
  const ended = new Promise<void>((resolve) => consumer.once("stopped", () => resolve()));
  stop.addEventListener("abort", () => consumer.stop({ abort: true }), { once: true });
  consumer.start();
  await ended;
}
