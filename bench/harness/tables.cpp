// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of tables. For a new table, declare its function here and add it to the list.
#include "table.hpp"

namespace lathbench {

table blocks_table();
table bytes_table();
table index_table();
table interval_table();
table locks_table();
table address_space_table();
table iova_table();
table ranges_table();
table ranks_table();
#ifdef LATH_TABLE_SCAN
table scan_table();
#endif
table sort_table();
table store_table();
table values_table();

std::vector<table> all_tables() {
    return {
        ranges_table(), index_table(),         values_table(), ranks_table(),  interval_table(),
        locks_table(),  address_space_table(), iova_table(),   blocks_table(), bytes_table(),
#ifdef LATH_TABLE_SCAN
        scan_table(),
#endif
        sort_table(),   store_table(),
    };
}

} // namespace lathbench
