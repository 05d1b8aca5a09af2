import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import type { JobQueue } from "./job-queue.ts";
import type { JobTable } from "./job-table.ts";

/**
 * Who may do what, action by action. The grant methods of the CDK give more than is used (`GetQueueUrl`, all
 * indexes of a table, wildcards on keys), so each list is written out here.
 */

/** A producer: the row, then the send. */
export function permitEnqueue(grantee: IGrantable, queue: JobQueue): Grant {
  return join(
    allow(grantee, ROW_ACTIONS, [queue.table.table.tableArn]),
    allow(grantee, ["sqs:SendMessage"], [queue.queue.queueArn]),
    permitKey(grantee, queue),
  );
}

/** A consumer: claims and settles rows, takes messages, sends waits to its queue and the buried to its DLQ. */
export function permitConsume(grantee: IGrantable, queue: JobQueue): Grant {
  return join(
    allow(grantee, ROW_ACTIONS, [queue.table.table.tableArn]),
    allow(grantee, CONSUME_ACTIONS, [queue.queue.queueArn]),
    allow(grantee, ["sqs:SendMessage"], [queue.queue.queueArn, queue.deadLetterQueue.queueArn]),
    permitKey(grantee, queue),
  );
}

/** The sweep's reads and touches: the index tells where to look, the row what is true. */
export function permitSweepTable(grantee: IGrantable, table: JobTable): Grant {
  return join(
    allow(grantee, ["dynamodb:Query"], [table.agendaIndexArn]),
    allow(grantee, TOUCH_ACTIONS, [table.table.tableArn]),
  );
}

/** The sweep's sends: due rows to their queue, missing copies to its DLQ, and a look at the backlog. */
export function permitSweepQueue(grantee: IGrantable, queue: JobQueue): Grant {
  return join(
    allow(grantee, ["sqs:GetQueueAttributes"], [queue.queue.queueArn]),
    allow(grantee, ["sqs:SendMessage"], [queue.queue.queueArn, queue.deadLetterQueue.queueArn]),
    permitKey(grantee, queue),
  );
}

/** The dispatcher's reads and touches, beside the stream itself. */
export function permitDispatchTable(grantee: IGrantable, table: JobTable): Grant {
  return join(
    allow(grantee, STREAM_ACTIONS, [table.streamArn()]),
    allow(grantee, TOUCH_ACTIONS, [table.table.tableArn]),
  );
}

/** Sends only: what the dispatcher can't send is the sweep's. */
export function permitSend(grantee: IGrantable, queue: JobQueue): Grant {
  return join(allow(grantee, ["sqs:SendMessage"], [queue.queue.queueArn]), permitKey(grantee, queue));
}

/** Scheduler: to the queue, and to its DLQ what it could not deliver there. */
export function permitSchedule(grantee: IGrantable, queue: JobQueue): Grant {
  const queues = [queue.queue.queueArn, queue.deadLetterQueue.queueArn];
  return join(allow(grantee, ["sqs:SendMessage"], queues), permitKey(grantee, queue));
}

/** An operator: the `dead` agenda, rows by id, sends, and the DLQ. No Put: nothing new is enqueued by it. */
export function permitOperate(grantee: IGrantable, queue: JobQueue): Grant {
  const { table } = queue;
  return join(
    allow(grantee, ["dynamodb:Query"], [table.agendaIndexArn]),
    allow(grantee, TOUCH_ACTIONS, [table.table.tableArn]),
    allow(grantee, ["sqs:SendMessage"], [queue.queue.queueArn]),
    allow(
      grantee,
      ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"],
      [queue.deadLetterQueue.queueArn],
    ),
    permitKey(grantee, queue),
  );
}

/**
 * GetItem: an engine that does not return the row that refused a write is asked for it (B68). PartiQL is the form
 * of several conditional writes in one request; PartiQLSelect, which could scan a table, is given to nobody.
 */
const TOUCH_ACTIONS = ["dynamodb:UpdateItem", "dynamodb:PartiQLUpdate", "dynamodb:GetItem", "dynamodb:BatchGetItem"];

/** All four on the one stream; the CDK's own grant gives ListStreams on every stream of the account. */
const STREAM_ACTIONS = [
  "dynamodb:DescribeStream",
  "dynamodb:GetRecords",
  "dynamodb:GetShardIterator",
  "dynamodb:ListStreams",
];

/** No Delete: rows leave by TTL. No Query or Scan: whoever runs jobs knows their keys. */
const ROW_ACTIONS = ["dynamodb:PutItem", "dynamodb:PartiQLInsert", ...TOUCH_ACTIONS];

const CONSUME_ACTIONS = [
  "sqs:ReceiveMessage",
  "sqs:DeleteMessage",
  "sqs:GetQueueAttributes",
  "sqs:ChangeMessageVisibility",
];

/** Sending to a queue with a key of yours takes both: SQS decrypts the data key that it reuses. */
function permitKey(grantee: IGrantable, { encryptionKey }: JobQueue): Grant | undefined {
  return encryptionKey?.grant(grantee, "kms:Decrypt", "kms:GenerateDataKey");
}

function allow(grantee: IGrantable, actions: string[], resourceArns: string[]): Grant {
  return Grant.addToPrincipal({ grantee, actions, resourceArns });
}

function join(first: Grant, ...rest: (Grant | undefined)[]): Grant {
  return rest.reduce<Grant>((all, grant) => (grant ? all.combine(grant) : all), first);
}
