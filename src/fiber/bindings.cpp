// SPDX-License-Identifier: MIT
#include "fiber/bindings.hpp"

#include "weft/dyn.hpp"

namespace weft::inline v0::detail {

Binding* retain_bindings(Binding* head) noexcept {
  if (head != nullptr) head->refs.fetch_add(1, std::memory_order_relaxed);
  return head;
}

void release_bindings(Binding* head) noexcept {
  while (head != nullptr && head->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Binding* next = head->next;
    delete head;
    head = next;
  }
}

const Payload* find_binding(const void* key) {
  for (const Binding* b = bindings_holder(current_core())->bindings; b != nullptr; b = b->next)
    if (b->key == key) return b->value.empty() ? nullptr : &b->value;
  return nullptr;
}

void set_binding(const void* key, Payload value) {
  FiberCore* holder = bindings_holder(current_core());
  auto* node = new Binding;
  node->key = key;
  node->value = std::move(value);
  // A key that is already at the head is replaced, so that setting in a loop does not grow the list.
  Binding* rest = holder->bindings;
  if (rest != nullptr && rest->key == key) {
    node->next = retain_bindings(rest->next);
    holder->bindings = node;
    release_bindings(rest);
  } else {
    node->next = rest;
    holder->bindings = node;
  }
}

}  // namespace weft::inline v0::detail
