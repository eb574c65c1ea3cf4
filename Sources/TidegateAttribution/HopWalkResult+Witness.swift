package import TidegateCore

extension HopWalkResult {
    /// How far the walk came on the way to `subject`: past `gateway` or not.
    ///
    /// A destination that answers says nothing of whether another host is there.
    package func reach(past gateway: IPAddress?, asking subject: IPAddress) -> Witness.Reach {
        if self.isDestinationReached {
            if self.destination.withoutZone == gateway?.withoutZone { return .gateway }
            let isSubject = self.destination.withoutZone == subject.withoutZone
            return isSubject ? .destination : .beyond(self.destination)
        }
        guard let last = self.lastAnswer else { return .nothing }
        let isGateway = last.hop == 1 || last.address.withoutZone == gateway?.withoutZone
        return isGateway ? .gateway : .router(last.address)
    }

    /// The walk as a witness.
    package func witness(past gateway: IPAddress?, asking subject: IPAddress) -> Witness {
        Witness(.hopWalk, self.reach(past: gateway, asking: subject), refusal: self.refusal)
    }

    /// What a router said other than that the hop limit was spent; nil if none did.
    package var refusal: ICMPError? { self.answers.map(\.error).last { $0.kind != .timeExceeded } }
}
