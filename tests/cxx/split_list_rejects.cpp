// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the compiler must refuse, with a message that says why. Compiled once a WRONG; with WRONG =
// 0 it must compile, or the other results would prove nothing.
#include <lathwork/cxx/split_list.hpp>

struct item {
    item* next;
};

struct signed_index : lathwork::split_list_policy {
    using index_type = int;
};
struct narrow_index : lathwork::split_list_policy {
    using index_type = unsigned char;
};

#if WRONG == 0
lathwork::intrusive_split_list<item, 4, &item::next> list;
lathwork::intrusive_split_list<item, 256, &item::next, narrow_index> widest;
#elif WRONG == 1
lathwork::intrusive_split_list<item, 0, &item::next> list;
#elif WRONG == 2
lathwork::intrusive_split_list<item, 3, &item::next> list;
#elif WRONG == 3
lathwork::intrusive_split_list<item, 5, &item::next> list;
#elif WRONG == 4
lathwork::intrusive_split_list<item, 4, &item::next, signed_index> list;
#elif WRONG == 5
lathwork::intrusive_split_list<item, 512, &item::next, narrow_index> list;
#elif WRONG == 6
lathwork::intrusive_split_list<item, 4, &item::next> list;
auto copy = list;
#elif WRONG == 7
lathwork::intrusive_split_list<item, 4, &item::next> list;
const auto& fixed = list;
item& front = fixed.front();
#endif
