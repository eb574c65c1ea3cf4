extension Explanation {
    /// The object that `explain --json` gives.
    package var json: JSONValue {
        [
            "schema": 1, "target": .string(self.target), "addresses": .texts(self.addresses.map(\.description)),
            "families": .object(self.ladders.map { .init($0.family.rawValue, $0.json) }),
            "firstFailure": .optional(self.firstFailure?.rung.rawValue), "party": .optional(self.party?.rawValue),
            "advice": .string(self.advice), "conclusion": .string(self.conclusion.rawValue),
            "cause": .optional(self.cause?.code), "findings": .texts(self.findings),
        ]
    }
}

extension Explanation.Ladder {
    fileprivate var json: JSONValue {
        [
            "rungs": .array(self.rungs.map(\.json)), "firstFailure": .optional(self.firstFailure?.rung.rawValue),
            "cause": .optional(self.cause?.code),
        ]
    }
}

extension RungReport {
    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("rung", .string(self.rung.rawValue)), .init("status", .string(self.status.rawValue)),
            .init("reason", .optional(self.reason?.rawValue)), .init("evidence", .texts(self.evidence)),
            .init("basis", .optional(self.basis?.rawValue)), .init("ageSeconds", .optional(self.values.age?.inSeconds)),
        ]
        members += self.values.members
        return .object(members)
    }
}

extension RungValues {
    // Only what there is: most rungs have no certificate.
    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let duration = self.duration { members.append(.init("durationSeconds", .number(duration.inSeconds))) }
        if let status = self.status { members.append(.init("httpStatus", .whole(status))) }
        if let refusal = self.refusal {
            members.append(
                .init(
                    "icmp",
                    [
                        "type": .whole(refusal.type), "code": .whole(refusal.code),
                        "from": .optional(refusal.offender?.description),
                    ]))
        }
        if let certificate = self.certificate { members.append(.init("certificate", certificate.json)) }
        if !self.hops.isEmpty { members.append(.init("hops", .array(self.hops.map(\.json)))) }
        return members
    }
}

extension RungValues.Hop {
    fileprivate var json: JSONValue {
        [
            "hop": .whole(self.limit), "address": .string(self.router.description),
            "durationSeconds": .number(self.duration.inSeconds),
        ]
    }
}

extension CertificateSummary {
    fileprivate var json: JSONValue {
        [
            "subject": .string(self.subject), "issuer": .string(self.issuer), "notBefore": .string(self.notBefore),
            "notAfter": .string(self.notAfter), "names": .texts(self.names),
            "localAuthority": self.localAuthority.map { ["name": .string($0.name), "file": .string($0.file)] } ?? .null,
        ]
    }
}
