import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { compare } from "./condition.ts";

type Item = Readonly<Record<string, AttributeValue>>;

/** What became of one statement on the one item that its key names. */
export type Executed = { readonly item: Item } | { readonly code: "ConditionalCheckFailed" | "DuplicateItem" };

/**
 * As much of DynamoDB's PartiQL as the adapter writes, read from the text alone: an oracle that knows neither
 * its expressions nor its templates.
 */
export function execute(statement: string, parameters: readonly AttributeValue[], item: Item | undefined): Executed {
  const rest = [...parameters];
  const next = (): AttributeValue => rest.shift() ?? fail("more ? than parameters", statement);
  const done = (executed: Executed): Executed => (rest.length > 0 ? fail("parameters left over", statement) : executed);

  const [, values] = /^INSERT INTO "[^"]+" VALUE \{(.*)\}$/.exec(statement) ?? [];
  if (values !== undefined) {
    const inserted = Object.fromEntries(values.split(", ").map((pair) => [nameIn(/^'([^']+)': \?$/, pair), next()]));
    return done(item ? { code: "DuplicateItem" } : { item: inserted });
  }
  const [, clauses = "", condition = ""] =
    /^UPDATE "[^"]+" (.*) WHERE (.*?)(?: RETURNING ALL NEW \*)?$/.exec(statement) ?? fail("not understood", statement);
  const changed: Record<string, AttributeValue> = { ...item };
  for (const clause of clauses.split(/ (?=SET |REMOVE )/)) {
    const [, name = "", counted] = /^SET ("[^"]+") = (?:("[^"]+") \+ )?\?$/.exec(clause) ?? [];
    if (name === "") delete changed[nameIn(/^REMOVE "([^"]+)"$/, clause)];
    else {
      const value = next();
      const sum = Number(item?.[unquoted(counted ?? "")]?.N) + Number(value.N);
      changed[unquoted(name)] = counted === undefined ? value : { N: String(sum) };
    }
  }
  // Every piece is read whatever the others say: the parameters have to be used up.
  const holds = condition.split(" AND ").map((piece) => {
    const [, name = "", operator] =
      /^("[^"]+") (?:(=|<=|>) \?|IS MISSING)$/.exec(piece) ?? fail("not understood", piece);
    return operator === undefined
      ? item?.[unquoted(name)] === undefined
      : compare(item?.[unquoted(name)], operator, next());
  });
  return done(item && holds.every(Boolean) ? { item: changed } : { code: "ConditionalCheckFailed" });
}

function nameIn(form: RegExp, text: string): string {
  return form.exec(text)?.[1] ?? fail("not understood", text);
}

function unquoted(name: string): string {
  return name.slice(1, -1);
}

function fail(why: string, text: string): never {
  throw new Error(`${why}: ${text}`);
}
