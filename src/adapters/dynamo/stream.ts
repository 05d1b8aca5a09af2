import { PARTITION_KEY } from "../../names.ts";
import { jobIdIn } from "./codec.ts";

/** What is read of a record of the table's stream: Lambda's form and the API's. */
export interface StreamRecord {
  readonly dynamodb?:
    | { readonly Keys?: Readonly<Record<string, { readonly S?: string | undefined }>> | undefined }
    | undefined;
}

/** The jobs that the records name; locks, controls and whatever else is in the table are passed over. */
export function jobIdsIn(records: readonly StreamRecord[]): readonly string[] {
  return records.flatMap((record) => {
    const key = record?.dynamodb?.Keys?.[PARTITION_KEY]?.S;
    try {
      return key === undefined ? [] : [jobIdIn({ [PARTITION_KEY]: { S: key } })];
    } catch {
      return [];
    }
  });
}
