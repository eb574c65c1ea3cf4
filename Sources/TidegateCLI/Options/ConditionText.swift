internal import ArgumentParser
internal import Tidegate

/// Reads the conditions that `wait` and `run` take.
enum ConditionText {
    /// What help says of them.
    static let help = """
        Conditions: carrier[:IF], address[:IF][:v4|v6], route[:v4|v6], gateway, dns, internet, \
        host:NAME[:PORT[/tcp|tls|http]]. A host without a port has to be routed, with one it has to answer. The internet is asked at \
        --internet-check, or at the well-known addresses of two operators.
        """

    static func parse(_ text: String) throws -> WaitCondition {
        do {
            return try WaitCondition(text, zone: TargetText.zone)
        } catch {
            throw ValidationError("--for: \(error)")
        }
    }
}
