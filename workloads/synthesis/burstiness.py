"""More or less bursty arrivals: deviations of the rate, or the gaps' coefficient of variation, by a factor."""

from workloads.model import (
    ArrivalModel,
    ComposedArrivals,
    GridArrivals,
    HarmonicArrivals,
    MmppArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    RenewalArrivals,
)


def scale_burstiness(model: ArrivalModel, factor: float) -> ArrivalModel:
    """Scale how far the rate strays from its mean, down to 0 at the lowest; where it does not, the gaps' CV."""
    if factor == 1.0:
        return model
    match model:
        case PoissonArrivals():
            return RenewalArrivals(cv=factor)
        case RenewalArrivals():
            return model.model_copy(update={"cv": model.cv * factor})
        case ComposedArrivals():
            clients = tuple(client.model_copy(update={"cv": client.cv * factor}) for client in model.clients)
            return model.model_copy(update={"clients": clients})
        case PiecewiseArrivals() | GridArrivals() | HarmonicArrivals() | MmppArrivals():
            return _scale_deviation(model, factor)


def _scale_deviation(
    model: PiecewiseArrivals | GridArrivals | HarmonicArrivals | MmppArrivals, factor: float
) -> ArrivalModel:
    match model:
        case PiecewiseArrivals() if len(set(model.weights)) == 1:
            return model.model_copy(update={"cv": model.cv * factor})
        case PiecewiseArrivals() | GridArrivals():
            return model.model_copy(update={"weights": _stray(model.weights, (), factor)})
        case MmppArrivals():
            return model.model_copy(update={"rates": _stray(model.rates, model.mean_stay_s, factor)})
        case HarmonicArrivals(waves=waves):
            louder = [wave.model_copy(update={"amplitude": min(1.0, wave.amplitude * factor)}) for wave in waves]
            return model.model_copy(update={"waves": tuple(louder)})


def _stray(rates: tuple[float, ...], lengths: tuple[float, ...], factor: float) -> tuple[float, ...]:
    lengths = lengths or (1.0,) * len(rates)
    mean = sum(rate * length for rate, length in zip(rates, lengths, strict=True)) / sum(lengths)
    return tuple(max(0.0, mean + factor * (rate - mean)) for rate in rates)
