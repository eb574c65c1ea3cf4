internal import CYaml

/// Counts the nodes of a YAML text with its aliases expanded.
///
/// Counts the parser's events before any node is made: Yams compares the keys of a mapping with each other, and would
/// expand an alias among them at each use.
struct YAMLExpansion {
    private let limit: Int
    private var anchors: [String: Int] = [:]
    // The open sequences and mappings, each with its number of nodes so far.
    private var open: [(anchor: String?, count: Int)] = []
    // The largest count so far; at the end, the root's.
    private var total = 0

    private init(limit: Int) { self.limit = limit }

    /// True if there are more than `limit`; false for a text that is not YAML.
    static func exceeds(_ limit: Int, _ text: String) -> Bool {
        // The parser stores its own address, so it must not move.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        parser.initialize(to: yaml_parser_t())
        guard yaml_parser_initialize(parser) == 1 else { return false }
        defer { yaml_parser_delete(parser) }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        return Array(text.utf8).withUnsafeBufferPointer { bytes in
            yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
            var expansion = YAMLExpansion(limit: limit)
            var isOver = false
            while !isOver, expansion.total <= limit {
                var event = yaml_event_t()
                guard yaml_parser_parse(parser, &event) == 1 else { return false }
                defer { yaml_event_delete(&event) }
                isOver = event.type == YAML_STREAM_END_EVENT
                expansion.add(event)
            }
            return expansion.total > limit
        }
    }

    private mutating func add(_ event: yaml_event_t) {
        switch event.type {
        case YAML_ALIAS_EVENT: self.add(self.name(event.data.alias.anchor).flatMap { self.anchors[$0] } ?? 1, as: nil)
        case YAML_SCALAR_EVENT: self.add(1, as: self.name(event.data.scalar.anchor))
        case YAML_SEQUENCE_START_EVENT: self.open.append((self.name(event.data.sequence_start.anchor), 1))
        case YAML_MAPPING_START_EVENT: self.open.append((self.name(event.data.mapping_start.anchor), 1))
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
            if let closed = self.open.popLast() { self.add(closed.count, as: closed.anchor) }
        default: break
        }
    }

    // Each open node counts only its own contents, so no sum exceeds the limit plus what one event adds.
    private mutating func add(_ count: Int, as anchor: String?) {
        let count = min(count, self.limit + 1)
        if let anchor { self.anchors[anchor] = count }
        guard !self.open.isEmpty else { return self.total = max(self.total, count) }
        self.open[self.open.count - 1].count += count
        self.total = max(self.total, self.open[self.open.count - 1].count)
    }

    private func name(_ text: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        text.map { String(cString: $0) }
    }
}
