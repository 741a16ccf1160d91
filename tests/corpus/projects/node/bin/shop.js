#!/usr/bin/env node
import { Cart } from "../src/cart.js";

const [name = "tea", cents = "100", count = "1"] = process.argv.slice(2);
console.log(String(new Cart().add(name, Number(cents), Number(count))));
