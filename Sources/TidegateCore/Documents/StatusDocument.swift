extension ReachabilityStatus {
    /// The object that `status --json` and `GET /api/v1/status` give.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [.init("schema", 1)]
        members += self.documentMembers
        return .object(members)
    }

    /// The members of ``json`` after `schema`, so that `watch` can put its own `event` in between.
    package var documentMembers: [JSONValue.Member] {
        [
            .init("level", .string(self.global.level.rawValue)),
            .init("reason", .optional(self.global.reason?.rawValue)),
            .init("since", .optional(self.since?.description)), .init("mode", .string(self.mode.rawValue)),
            .init(
                "families", .object(self.families.map { .init($0.family.rawValue, .object($0.verdict.familyMembers)) })),
            .init("links", .array(self.links.map { $0.json(among: self.links) })),
            .init("targets", .array(self.targets.map(\.json))), .init("monitor", self.health.json),
        ]
    }
}

extension ReachabilityStatus.Health {
    fileprivate var json: JSONValue {
        [
            "overruns": .whole(self.overruns), "resyncs": .whole(self.resyncs),
            "interruptedDumps": .whole(self.interruptedDumps), "consistent": .bool(self.isConsistent),
        ]
    }
}

extension Link {
    fileprivate func json(among links: [Link]) -> JSONValue {
        let master = self.master.map { index in links.first { $0.index == index }?.name ?? String(index) }
        return [
            "name": .string(self.name), "index": .whole(self.index), "type": .string(self.kind.rawValue),
            "admin": .string(self.isAdminUp ? "up" : "down"), "carrier": .bool(self.hasCarrier),
            "operstate": .string(self.operState.rawValue), "usable": .bool(self.isUsable),
            "reason": .optional(self.reason?.rawValue), "master": .optional(master),
            "addresses": .texts(self.addresses.map(\.description)),
        ]
    }
}

extension TargetVerdict {
    fileprivate var json: JSONValue {
        let flat = self.verdict.levelMembers + self.verdict.pathMembers + [self.verdict.notesMember]
        let addresses = self.addresses.map { entry in
            JSONValue.object(
                [
                    .init("address", .string(entry.address.description)),
                    .init("family", .string(entry.address.family.rawValue)),
                ] + entry.verdict.levelMembers + entry.verdict.pathMembers)
        }
        return .object(
            [.init("target", .string(self.target.description))] + flat + [.init("addresses", .array(addresses))])
    }
}

extension Verdict {
    fileprivate var familyMembers: [JSONValue.Member] {
        let metered = JSONValue.Member("metered", .string((self.path?.metered ?? .unknown).rawValue))
        return self.levelMembers + self.pathMembers + [metered, self.notesMember]
    }

    fileprivate var levelMembers: [JSONValue.Member] {
        [.init("level", .string(self.level.rawValue)), .init("reason", .optional(self.reason?.rawValue))]
    }

    fileprivate var pathMembers: [JSONValue.Member] {
        [
            .init("interface", .optional(self.path?.interface)),
            .init("gateway", .optional(self.path?.gateway?.description)),
            .init("source", .optional(self.path?.source?.description)), .init("table", .optional(self.path?.table)),
        ]
    }

    fileprivate var notesMember: JSONValue.Member {
        .init("notes", .array(self.notes.map { .string($0.token) }))
    }

    /// The verdict as the two sides of a `path.changed` event give it.
    package var changeJSON: JSONValue {
        .object(self.levelMembers + self.pathMembers.filter { $0.name != "table" })
    }
}
