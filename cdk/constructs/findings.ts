import { Annotations, type Duration, Token } from "aws-cdk-lib";
import type { Construct } from "constructs";

/**
 * What a construct finds wrong with its props. All errors are thrown at once, so that one synth shows
 * everything; each text names the prop, its value and the fix. A token has no value before the deploy:
 * comparing one would compare its placeholder, so it is left unchecked and a warning says so.
 */
export class Findings {
  private readonly errors: string[] = [];
  private readonly warnings = new Map<string, string>();

  error(text: string): void {
    this.errors.push(text);
  }

  /** `id` is what `Validations.of(x).acknowledge()` takes to silence it, after `antrean:`. */
  warn(id: string, text: string): void {
    this.warnings.set(id, text);
  }

  /** The value in seconds, or undefined when it is known only at deploy. */
  seconds(prop: string, value: Duration): number | undefined {
    if (value.isUnresolved()) return this.unknown(prop);
    return value.toSeconds({ integral: false });
  }

  /** Checks a whole number within [min, max]; gives it back, or undefined when it can't be compared. */
  whole(prop: string, value: number, min: number, max: number, fix: string): number | undefined {
    if (Token.isUnresolved(value)) return this.unknown(prop);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    this.error(`${prop} is ${value}, not a whole number from ${min} to ${max}: ${fix}`);
    return undefined;
  }

  /** Checks whole seconds within [min, max]; gives them back, or undefined when they can't be compared. */
  wholeSeconds(prop: string, value: Duration, min: number, max: number, fix: string): number | undefined {
    const seconds = this.seconds(prop, value);
    if (seconds === undefined) return undefined;
    if (Number.isInteger(seconds) && seconds >= min && seconds <= max) return seconds;
    this.error(`${prop} is ${seconds} s, not whole seconds from ${min} to ${max}: ${fix}`);
    return undefined;
  }

  /** Attaches the warnings to the construct and throws the errors, if there are any. */
  report(scope: Construct): void {
    for (const [id, text] of this.warnings) Annotations.of(scope).addWarningV2(`antrean:${id}`, text);
    if (this.errors.length === 0) return;
    const kind = scope.constructor.name;
    throw new Error([`${kind} ${scope.node.path}:`, ...this.errors.map((text) => `- ${text}`)].join("\n"));
  }

  private unknown(prop: string): undefined {
    const text = `${prop} is a token, known only at deploy: its limits were not checked. Give a plain value to have them checked.`;
    this.warn(`token-${prop}`, text);
    return undefined;
  }
}
