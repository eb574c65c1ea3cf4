package import TidegateCore

extension HopWalkResult {
    /// How far the walk came, past `gateway` or not.
    package func reach(past gateway: IPAddress?) -> Witness.Reach {
        if self.isDestinationReached { return .destination }
        guard let last = self.lastAnswer else { return .nothing }
        let isGateway = last.hop == 1 || last.address.withoutZone == gateway?.withoutZone
        return isGateway ? .gateway : .beyond(last.address)
    }

    /// The walk as a witness.
    package func witness(past gateway: IPAddress?) -> Witness {
        Witness(.hopWalk, self.reach(past: gateway), refusal: self.refusal)
    }

    /// What a router said other than that the hop limit was spent; nil if none did.
    package var refusal: ICMPError? { self.answers.map(\.error).last { $0.kind != .timeExceeded } }
}
