// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The JSON of `lath extents`. Extents are written one per line as they come: the list can be long.
// Names that are no UTF-8 have their bytes beside them (base/json_text.hpp).
#include "extents/report.hpp"

#include "base/json_text.hpp"

#include "lathwork/error.h"

#include <algorithm>
#include <ostream>

#include <sys/utsname.h>

namespace lathcli {

namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& j) { return json_text(j); }

json device_json(const device& d) {
    json j;
    put_text(j, "source", d.source);
    j["file_system"] = d.file_system;
    j["block_size"] = d.block_size;
    j["addresses"] = d.own.empty() ? "device" : "logical";
    if (!d.own.empty())
        j["why_logical"] = d.own;
    return j;
}

json context(const scan_result& scan, const scan_options& how) {
    utsname host{};
    uname(&host);
    json devices = json::array();
    for (const device& d : scan.devices)
        devices.push_back(device_json(d));
    json j{{"tool", "lath extents"},
           {"version", std::to_string(LATH_VERSION_MAJOR) + "." +
                           std::to_string(LATH_VERSION_MINOR) + "." +
                           std::to_string(LATH_VERSION_PATCH)},
           {"kernel", std::string(host.sysname) + " " + host.release},
           {"machine", host.machine},
           {"threads", how.threads},
           {"sync", how.sync},
           {"devices", std::move(devices)},
           {"seconds", scan.seconds},
           {"unit", "bytes"}};
    put_texts(j, "paths", how.paths);
    return j;
}

json extent_json(const scan_result& scan, owner who) {
    const file_record& file = scan.files[who.file];
    const extent& e = file.extents[who.extent];
    json j{{"physical", e.physical}, {"length", e.length}, {"logical", e.logical}};
    put_text(j, "file", file.path);
    if (scan.devices.size() > 1)
        j["device"] = e.device;
    if (e.copy)
        j["copy"] = e.copy;
    if (auto names = flag_names(e.flags); !names.empty())
        j["flags"] = names;
    return j;
}

json segment_json(const scan_result& scan, const segment& s) {
    json owners = json::array();
    for (owner who : s.owners) {
        const file_record& file = scan.files[who.file];
        const extent& e = file.extents[who.extent];
        json o;
        put_text(o, "file", file.path);
        o["logical"] = e.logical + (s.physical - e.physical);
        if (!file.links.empty())
            put_texts(o, "links", file.links);
        owners.push_back(std::move(o));
    }
    json j{{"physical", s.physical}, {"length", s.length}};
    if (scan.devices.size() > 1)
        j["device"] = s.device;
    j["owners"] = std::move(owners);
    return j;
}

json segments_json(const scan_result& scan, const std::vector<segment>& segments) {
    json list = json::array();
    for (const segment& s : segments)
        list.push_back(segment_json(scan, s));
    return list;
}

json queries_json(const scan_result& scan, const std::vector<answers::query>& queries) {
    json list = json::array();
    for (const auto& q : queries)
        list.push_back({{"query", q.text}, {"found", segments_json(scan, q.found)}});
    return list;
}

json skipped_json(const scan_result& scan) {
    const extent_skips& s = scan.skipped_extents;
    return {{"files", scan.skipped_files},
            {"extents",
             {{"inline", s.inlined},
              {"delayed", s.delayed},
              {"unknown", s.unknown},
              {"encoded", s.encoded},
              {"invalid", s.invalid},
              {"moved", s.moved}}}};
}

json summary_json(const scan_result& scan, const answers& a) {
    return {{"files", a.files},
            {"extents", a.extents},
            {"fragments", a.fragments},
            {"files_in_one_piece", a.in_one_piece},
            {"bytes", a.bytes},
            {"device_bytes", a.device_bytes},
            {"segments", scan.map.segments()},
            {"index_bytes", scan.map.stats().bytes},
            {"shared_segments", a.shared_segments},
            {"shared_bytes", a.shared_bytes}};
}

json worst_json(const scan_result& scan, const answers& a) {
    json list = json::array();
    for (const fragmentation& f : a.worst) {
        json j;
        put_text(j, "file", scan.files[f.file].path);
        j.update({{"fragments", f.fragments}, {"extents", f.extents}, {"bytes", f.bytes}});
        list.push_back(std::move(j));
    }
    return list;
}

json gaps_json(const scan_result& scan, const answers& a) {
    json list = json::array();
    for (const gap& g : a.gaps) {
        list.push_back({{"physical", g.physical}, {"length", g.length}});
        if (scan.devices.size() > 1)
            list.back()["device"] = g.device;
    }
    return list;
}

std::vector<owner> all_extents(const scan_result& scan) {
    std::vector<owner> all;
    for (std::uint32_t f = 0; f < scan.files.size(); f++)
        for (std::uint32_t e = 0; e < scan.files[f].extents.size(); e++)
            all.push_back({f, e});
    std::ranges::sort(all, {}, [&](owner who) {
        const extent& e = scan.files[who.file].extents[who.extent];
        return std::tuple(e.device, e.physical, who.file, who.extent);
    });
    return all;
}

} // namespace

void print_json(std::ostream& out, const scan_result& scan, const scan_options& how,
                const answers& a) {
    out << "{\"context\":" << dump(context(scan, how)) << ",\n\"extents\":[";
    const char* before = "\n";
    for (owner who : all_extents(scan)) {
        out << before << dump(extent_json(scan, who));
        before = ",\n";
    }
    out << "],\n\"summary\":" << dump(summary_json(scan, a))
        << ",\n\"skipped\":" << dump(skipped_json(scan))
        << ",\n\"fragmented\":" << dump(worst_json(scan, a))
        << ",\n\"gaps\":" << dump(gaps_json(scan, a))
        << ",\n\"shared\":" << dump(segments_json(scan, a.shared))
        << ",\n\"at\":" << dump(queries_json(scan, a.at))
        << ",\n\"overlap\":" << dump(queries_json(scan, a.overlap)) << "}\n";
}

} // namespace lathcli
