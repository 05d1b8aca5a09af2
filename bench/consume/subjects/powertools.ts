import { BatchProcessor, EventType, processPartialResponse } from "@aws-lambda-powertools/batch";
import { parser } from "@aws-lambda-powertools/batch/parser";
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import { JSONStringified } from "@aws-lambda-powertools/parser/helpers";
import { SqsRecordSchema } from "@aws-lambda-powertools/parser/schemas/sqs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Context, SQSEvent, SQSRecord } from "aws-lambda";
import type * as z from "zod";
import { CLIENT, IDEMPOTENCY_TABLE } from "../../clients.ts";
import { Invoice } from "../../contracts.ts";
import { work } from "../../work.ts";

const logger = new Logger({ serviceName: "bench" });
const metrics = new Metrics({ serviceName: "bench", namespace: "bench" });

/** Made once: given as `innerSchema`, the processor would make it anew for each record. */
const InvoiceRecord = SqsRecordSchema.extend({ body: JSONStringified(Invoice) });
const processor = new BatchProcessor(EventType.SQS, { parser, schema: InvoiceRecord, logger });

const config = new IdempotencyConfig({ eventKeyJmesPath: "messageId" });
const persistenceStore = new DynamoDBPersistenceLayer({
  tableName: IDEMPOTENCY_TABLE,
  awsSdkV3Client: new DynamoDBClient(CLIENT),
});

const processRecord = makeIdempotent(
  async (record: z.output<typeof InvoiceRecord>) => {
    const result = await work(record.body);
    logger.info("invoice sent", { invoiceId: record.body.invoiceId });
    metrics.addMetric("sent", MetricUnit.Count, 1);
    return result;
  },
  { persistenceStore, config },
);

export const handler = async (event: SQSEvent, context: Context) => {
  config.registerLambdaContext(context);
  logger.addContext(context);
  // What the processor hands on is what the schema made of the record.
  const process = processRecord as unknown as (record: SQSRecord) => Promise<unknown>;
  const answer = await processPartialResponse(event, process, processor, { context });
  // Of a hundred it has published by itself, and warns when there is nothing left.
  if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
  return answer;
};
