internal import TidegateCore
internal import TidegateTransfer

/// What a session's loop is given by the session.
struct SessionDependencies: Sendable {
    let configuration: SessionConfiguration
    let bus: EventBus
    let paths: any PathSource
    let resolver: any NameResolver
    let time: any TimeSource
    let random: RandomSource
    let disk: DiskThread
    let mailbox: Mailbox
    let registry: TaskRegistry
    let journal: (any JournalStorage)?
    let hooks: SessionHooks?
    let observer: TaskObserver?
    let tracer: (any TaskTracer)?
    /// What the latest diagnosis of the host found over a family; nil if none was made lately.
    let diagnosis: @Sendable (AddressFamily) -> SilenceEvidence?

    var delegate: DelegateDispatcher {
        let mailbox = self.mailbox
        return DelegateDispatcher(hooks: self.hooks, observer: self.observer) { mailbox.send(.delegate($0, $1)) }
    }
}
