import type { AttributeValue } from "@aws-sdk/client-dynamodb";

type Item = Readonly<Record<string, AttributeValue>>;

/**
 * As much of DynamoDB's conditions as the adapters write, with parentheses; AND binds before OR, and a
 * comparison with an attribute that is not there is false.
 */
export function conditionHolds(
  condition: string,
  names: Readonly<Record<string, string>>,
  values: Item,
  item: Item,
): boolean {
  const words = condition.match(/attribute_not_exists\(#\w+\)|attribute_exists\(#\w+\)|[()]|[#:]?\w+|<=|[=<>]/g) ?? [];
  const at = (alias = ""): AttributeValue | undefined => item[names[alias] ?? `no such alias ${alias}`];
  const take = () => words.shift() ?? "";

  const one = (): boolean => {
    const word = take();
    if (word === "(") {
      const inner = any();
      if (take() !== ")") throw new Error(`a parenthesis is not closed in ${condition}`);
      return inner;
    }
    const [, not, alias] = /^attribute_(not_)?exists\((#\w+)\)$/.exec(word) ?? [];
    if (alias !== undefined) return (at(alias) === undefined) === (not !== undefined);
    return compare(at(word), take(), values[take()]);
  };
  // Both sides are read whatever the first one says: the words have to be used up.
  const all = (): boolean => {
    let holds = one();
    while (words[0] === "AND") {
      take();
      holds = one() && holds;
    }
    return holds;
  };
  const any = (): boolean => {
    let holds = all();
    while (words[0] === "OR") {
      take();
      holds = all() || holds;
    }
    return holds;
  };
  const verdict = any();
  if (words.length > 0) throw new Error(`not understood: ${words.join(" ")} in ${condition}`);
  return verdict;
}

/** A comparison as DynamoDB makes it: with what is not there it is false. */
export function compare(
  left: AttributeValue | undefined,
  operator: string,
  right: AttributeValue | undefined,
): boolean {
  if (right === undefined) throw new Error("no such value");
  if (left === undefined) return false;
  if (operator === "=") return JSON.stringify(left) === JSON.stringify(right);
  if (left.N === undefined || right.N === undefined) return false;
  const [one, other] = [Number(left.N), Number(right.N)];
  if (operator === "<") return one < other;
  return operator === "<=" ? one <= other : one > other;
}
