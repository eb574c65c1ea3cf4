extension TaskResult {
    /// The object that `fetch --write-out json` prints for a finished transfer.
    public var json: JSONValue {
        let held = HoldReason.allCases.compactMap { reason in
            self.held[reason].map { JSONValue.Member(reason.rawValue, .seconds($0)) }
        }
        let phases = PhaseDurations.Phase.allCases.compactMap { phase in
            self.phases[phase].map { JSONValue.Member(phase.rawValue, .seconds($0)) }
        }
        return [
            "schema": 1, "url": .string(self.url), "taskId": .string(self.id.description),
            "outcome": .string(self.outcome.rawValue), "status": .optional(self.status), "file": .optional(self.file),
            "bytes": .integer(self.bytes), "wireBytes": .integer(self.wireBytes),
            "refetchedBytes": .integer(self.refetchedBytes), "attempts": .integer(Int64(self.attempts)),
            "heldSeconds": .object(held), "durationSeconds": .seconds(self.duration),
            "phaseSeconds": .object(phases), "reason": .optional(self.failure?.rawValue),
            "party": .optional(self.attribution?.party.rawValue),
            "requireUnmet": .optional(self.requireUnmet?.description), "sha256": .optional(self.sha256),
        ]
    }
}

extension TaskInfo {
    /// One entry of `GET /api/v1/tasks`.
    public var json: JSONValue {
        var waitsFor: JSONValue = .null
        var detail: JSONValue = .null
        var outcome: JSONValue = .null
        switch self.state {
        case .waiting(let reason, let text): (waitsFor, detail) = (.string(reason.rawValue), .optional(text))
        case .completed(let ending): outcome = .string(ending.rawValue)
        case .suspended, .running: break
        }
        return [
            "id": .string(self.id.description), "name": .optional(self.name), "kind": .string(self.kind.rawValue),
            "method": .string(self.method), "url": .string(self.url), "state": .string(self.state.name.rawValue),
            "waitsFor": waitsFor, "detail": detail, "outcome": outcome,
            "attempt": .integer(Int64(self.progress.attempt)),
            "bytes": .integer(self.progress.offset + self.progress.receivedWire),
            "expectedBytes": .optional(self.progress.expected), "sentBytes": .integer(self.progress.sent),
            "fraction": self.progress.fraction.map(JSONValue.number) ?? .null,
            "created": .string(self.created.description), "started": .optional(self.started?.description),
            "file": .optional(self.file),
        ]
    }
}

extension JSONValue {
    /// A duration in seconds, to the microsecond.
    public static func seconds(_ duration: Duration) -> JSONValue {
        .number((duration.inSeconds * 1_000_000).rounded() / 1_000_000)
    }
}
