import { MAX_SQS_DELAY_SECONDS } from "./backoff.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { type Attribute, messageBytes, type OutgoingMessage } from "./message.ts";

const MAX_ATTRIBUTES = 10;
/** Letters, digits, `_`, `-` and single full stops inside; at most 256; `AWS.` and `Amazon.` are Amazon's. */
const ATTRIBUTE_NAME = /^(?!(?:aws|amazon)\.)(?!.*\.\.)(?!\.)[\w.-]{1,256}(?<!\.)$/i;
const ATTRIBUTE_TYPE = /^(?:String|Number|Binary)(?:\..{1,248})?$/;
const GROUP = /^[!-~]{1,128}$/;
/** What is not among #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF. */
const NOT_TAKEN = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

/**
 * Why SQS does not take this message, or undefined when it does. Asked before the call: some of these make
 * SQS refuse a whole batch, and engines differ in what they let through (B66).
 * Source: SQS API reference, SendMessageBatch, and "message metadata" in the developer guide.
 */
export function refusalOf(message: OutgoingMessage): string | undefined {
  const { body, attributes, delaySeconds, group } = message;
  if (!(Number.isInteger(delaySeconds) && delaySeconds >= 0 && delaySeconds <= MAX_SQS_DELAY_SECONDS)) {
    return `a delay of ${delaySeconds} s is not a whole number from 0 to ${MAX_SQS_DELAY_SECONDS}`;
  }
  if (body === "") return "the body is empty";
  const names = Object.keys(attributes);
  if (names.length > MAX_ATTRIBUTES) return `${names.length} attributes are more than ${MAX_ATTRIBUTES}`;
  const bytes = messageBytes(message);
  if (bytes > MAX_MESSAGE_BYTES) return `${bytes} bytes with attributes are more than ${MAX_MESSAGE_BYTES}`;
  if (NOT_TAKEN.test(body)) return "the body has a character outside of SQS's set";
  if (group !== undefined && !GROUP.test(group)) return "the group is not 1 to 128 printable ASCII characters";
  for (const [name, attribute] of Object.entries(attributes)) {
    const why = attributeRefusal(name, attribute);
    if (why !== undefined) return `attribute ${JSON.stringify(name.slice(0, 80))}: ${why}`;
  }
  return undefined;
}

function attributeRefusal(name: string, { type, value }: Attribute): string | undefined {
  if (!ATTRIBUTE_NAME.test(name)) return "not a name that SQS takes";
  if (!ATTRIBUTE_TYPE.test(type)) return "its type is none of String, Number and Binary";
  if (value === "") return "its value is empty";
  if (type.startsWith("Number") && !Number.isFinite(Number(value))) return "its value is no number";
  return NOT_TAKEN.test(value) ? "its value has a character outside of SQS's set" : undefined;
}
