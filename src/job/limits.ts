/**
 * Sizes are limited part by part so that no legal row passes DynamoDB's 400 KB and no legal message
 * passes SQS's 1 MiB: payload 256 KiB + header 16 KiB, or a body of 288 KiB in their place, + result 32 KiB
 * + errors 5 x 1 KiB + keys.
 */
export const DEFAULT_PAYLOAD_BYTES = 64 * 1024;
export const MAX_PAYLOAD_BYTES = 256 * 1024;
export const MAX_RESULT_BYTES = 32 * 1024;
/** Everything in an envelope but its payload. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** Another service's body is kept as it came: its white space and its escapes count as well. */
export const MAX_BODY_BYTES = 288 * 1024;
/** JSON.parse takes any depth; whatever walks a value afterwards would end at the stack's. */
export const MAX_PAYLOAD_DEPTH = 100;
export const MAX_KEY_BYTES = 1024;
export const MAX_TENANT_BYTES = 256;
export const MAX_ERRORS = 5;
export const MAX_ERROR_BYTES = 1024;
/** SQS: a message, or all messages of a batch together, attributes included (1 MiB since August 2025). */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
export const MAX_BATCH_MESSAGES = 10;
/** A job that enqueues a job that enqueues a job ... ends here. */
export const MAX_HOPS = 100;
