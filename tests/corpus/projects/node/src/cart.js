import { format } from "money";

export class Cart {
  #items = [];

  add(name, cents, count = 1) {
    if (count < 1) throw new RangeError("count must be positive");
    this.#items.push({ name, cents, count });
    return this;
  }

  get total() {
    return this.#items.reduce((sum, item) => sum + item.cents * item.count, 0);
  }

  toString() {
    return format(this.total);
  }
}
