extension PathEvent {
    /// The object that `watch --json` prints for a change of a verdict.
    public func json(sequence: UInt64, time: WallTime) -> JSONValue {
        var (name, family, target): (String, JSONValue, JSONValue) = ("global", .null, .null)
        switch self.scope {
        case .global: break
        case .family(let which): (name, family) = ("family", .string(which.rawValue))
        case .target(let which): (name, target) = ("target", .string(which.description))
        }
        return [
            "schema": 1, "event": "path.changed", "seq": .integer(Int64(clamping: sequence)),
            "time": .string(time.description), "scope": .string(name), "family": family, "target": target,
            "from": self.from.changeJSON, "to": self.to.changeJSON,
        ]
    }
}

extension LinkEvent {
    /// The object that `watch --json` prints for a change of a link; nil for an event about no link at all.
    public func json(sequence: UInt64, time: WallTime) -> JSONValue? {
        guard let link = self.to ?? self.from else { return nil }
        return [
            "schema": 1, "event": "link.changed", "seq": .integer(Int64(clamping: sequence)),
            "time": .string(time.description), "name": .string(link.name), "index": .integer(Int64(link.index)),
            "from": self.from?.changeJSON ?? .null, "to": self.to?.changeJSON ?? .null,
        ]
    }
}

extension Link {
    fileprivate var changeJSON: JSONValue {
        [
            "admin": .string(self.isAdminUp ? "up" : "down"), "carrier": .bool(self.hasCarrier),
            "operstate": .string(self.operState.rawValue), "usable": .bool(self.isUsable),
            "reason": .optional(self.reason?.rawValue),
        ]
    }
}
