internal import TidegateCore

/// What is to be done after something was observed.
enum ObservationEffect {
    case publish(ConnectionEvent)
    /// The route to an address has to be looked up.
    case lookUp(IPAddress)
}
